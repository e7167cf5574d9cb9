import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { keyOf } from "../../../apis/meta.ts";
import { atOnce } from "../../../base/steps.ts";
import { nodeView, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import type { NodeView } from "../../state/node-view.ts";
import type { PoolInput, SchedulingInput } from "../scheduling-input.ts";
import { isOfOneKind, nodeChanges } from "./picture-changes.ts";

interface Picture {
  readonly nodes: readonly NodeView[];
  /** Pods that are pending. */
  readonly pods?: readonly Pod[];
}

function changes(before: Picture, now: Picture) {
  const [old, next] = [before, now].map((one) => schedulingInput({ pods: [], pools: [], ...one }));
  const batch = new Set((now.pods ?? []).map(keyOf));
  const found = atOnce(nodeChanges(old as never, next as never, batch));
  const names = (views: readonly NodeView[]) => views.map(({ name }) => name);
  return { changed: names(found.changed), gone: names(found.gone) };
}

const view = (name: string) => nodeView({ node: { name } });
const [a, b, c, d] = ["a", "b", "c", "d"].map(view) as [NodeView, NodeView, NodeView, NodeView];

describe("changed nodes between two scheduling inputs", () => {
  it("are nodes that are new, deleted or have another view", () => {
    expect(changes({ nodes: [a, b] }, { nodes: [a, b] })).toEqual({ changed: [], gone: [] });
    expect(changes({ nodes: [a, c] }, { nodes: [a, b, c] })).toEqual({ changed: ["b"], gone: [] });
    expect(changes({ nodes: [a, b, c] }, { nodes: [b, c] })).toEqual({ changed: [], gone: ["a"] });
    const again = { changed: ["b"], gone: ["b"] };
    expect(changes({ nodes: [a, b, c] }, { nodes: [a, view("b"), c] })).toEqual(again);
    expect(changes({ nodes: [a, c] }, { nodes: [b, d] })).toEqual({
      ...{ changed: ["b", "d"], gone: ["a", "c"] },
    });
  });

  it("are also nodes whose pods start or stop to need a place", () => {
    const nodes = [a, b, c];
    const [onA, onB] = ["a", "b"].map((name) => pod({ name: `on-${name}`, nodeName: name })) as [
      Pod,
      Pod,
    ];
    const waiting = pod({ name: "waiting" });
    const changed = (before: readonly Pod[], now: readonly Pod[]) =>
      changes({ nodes, pods: before }, { nodes, pods: now }).changed;
    expect(changed([onA], [onA])).toEqual([]);
    expect(changed([onA], [onB])).toEqual(["a", "b"]);
    expect([changed([], [onB]), changed([onA], [])]).toEqual([["b"], ["a"]]);
    expect([changed([], [waiting]), changed([waiting], [])]).toEqual([[], []]);
  });
});

describe("two scheduling inputs", () => {
  const own = schedulingInput({ pods: [], nodes: [a], pools: [poolInput({})] });
  const isAlike = (more: Partial<SchedulingInput>) => isOfOneKind(own, { ...own, ...more });

  it("are of one kind if only nodes and pods differ", () => {
    const equal = poolInput({}, own.pools[0]?.instanceTypes);
    expect(isAlike({ nodes: [b], pods: [pod()], pools: [equal] })).toBe(true);
  });

  it("are not of one kind if settings, pools or other objects differ", () => {
    const [only] = own.pools as [PoolInput];
    const avoided = [{ key: "team", effect: "PreferNoSchedule" as const }];
    const differences: readonly Partial<SchedulingInput>[] = [
      { options: { ...own.options, preferencePolicy: "Ignore" } },
      { daemonPods: [pod({ name: "daemon" })] },
      { namespaces: [{ metadata: { name: "other" } }] },
      { autoscalers: [{} as never] },
      { volumes: { ...own.volumes, classes: [{} as never] } },
      { devices: {} as never },
      { pools: [] },
      { pools: [{ ...only, instanceTypes: [...only.instanceTypes] }] },
      { pools: [poolInput({ weight: 5 }, only.instanceTypes)] },
      { nodes: [nodeView({ node: { name: "a", taints: avoided } })] },
      { defaultSpread: {} as never },
    ];
    expect(differences.filter(isAlike)).toEqual([]);
    const spread = { ...own, defaultSpread: {} as never };
    expect(isOfOneKind(spread, own)).toBe(false);
  });
});

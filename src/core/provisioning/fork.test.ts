import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { nodeView, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { VolumeIndex } from "../scheduling/volumes.ts";
import { createPass } from "./base-pass.ts";
import { targetNodes } from "./nodes/existing-node.ts";
import { planOf, prepare } from "./solve.ts";
import type { TopologyGroup } from "./topology/topology-group.ts";

const NOTHING = { templates: [], forget: () => undefined };

const WEB = { app: "web" };
const SPREAD = {
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "topology.kubernetes.io/zone",
      whenUnsatisfiable: "DoNotSchedule" as const,
      labelSelector: { matchLabels: WEB },
    },
  ],
};

function state() {
  const input = schedulingInput({
    pools: [poolInput({})],
    nodes: [nodeView({ node: { name: "a" } }), nodeView({ node: { name: "b" } })],
    pods: [pod({ name: "p", cpu: "1" })],
  });
  const nodes = atOnce(targetNodes(input.nodes, []));
  return createPass(input, new VolumeIndex(input.volumes), { idle: false, nodes });
}

describe("a fork", () => {
  it("undoes the changes of an inner fork, and keeps those of the outer one", () => {
    const { forks, nodes } = state();
    const [a, b] = nodes as [(typeof nodes)[number], (typeof nodes)[number]];
    const outer = forks.open(NOTHING);
    outer.remove(a);
    const inner = forks.open(NOTHING);
    inner.remove(b);
    expect([a.gone, b.gone]).toEqual([true, true]);
    inner.undo();
    expect([a.gone, b.gone]).toEqual([true, false]);
    outer.undo();
    expect([a.gone, b.gone]).toEqual([false, false]);
  });

  it("cannot be rolled back or ended while an inner fork is open", () => {
    const { forks } = state();
    const outer = forks.open(NOTHING);
    const before = outer.savepoint();
    const inner = forks.open(NOTHING);
    expect(() => outer.backTo(before)).toThrow("inner fork");
    expect(() => outer.undo()).toThrow("inner fork");
    inner.undo();
    outer.undo();
  });

  it("cannot be opened first while another one is open", () => {
    const { forks } = state();
    const first = forks.openOutermost(NOTHING);
    expect(() => forks.openOutermost(NOTHING)).toThrow("once the one before is done");
    first.undo();
    forks.openOutermost(NOTHING).undo();
  });

  it("allows whole plans inside it, without a trace", () => {
    const pods = ["a", "b", "c", "d"].map((name) =>
      pod({ name, labels: WEB, cpu: "2", spec: SPREAD }),
    );
    const batch = atOnce(prepare(schedulingInput({ pods, pools: [poolInput({})] })));
    const before = atOnce(planOf(batch));
    const { forks, templates, context } = batch.base;
    const outer = forks.open({ ...NOTHING, templates });
    const counts = context.topology.changes;
    expect(atOnce(planOf(batch))).toEqual(before);
    expect(context.topology.changes).toBe(counts);
    outer.undo();
    expect(atOnce(planOf(batch))).toEqual(before);
  });

  it("keeps topology changes of an outer fork when the inner one ends", () => {
    const pods = [pod({ labels: WEB, spec: SPREAD })];
    const { queued, base } = atOnce(prepare(schedulingInput({ pods, pools: [poolInput({})] })));
    const { forks, context } = base;
    const group = queued[0]?.podClass.variants[0]?.rules[0]?.group as TopologyGroup;
    const outer = forks.open(NOTHING);
    context.topology.forgetDomain(group, "zone-a");
    forks.open(NOTHING).undo();
    expect(group.counts.has("zone-a")).toBe(false);
    outer.undo();
    expect(group.counts.has("zone-a")).toBe(true);
  });

  it("restores the remaining limits of the templates when it is undone", () => {
    const { forks, templates } = state();
    const [template] = templates as [(typeof templates)[number]];
    const { limitsLeft } = template;
    const fork = forks.open({ ...NOTHING, templates });
    template.limitsLeft = { ...limitsLeft, exhausted: true };
    fork.undo();
    expect(template.limitsLeft).toBe(limitsLeft);
  });
});

/**
 * A prepared what-if gives the same answers as a new engine, whatever was asked before. It is tested with random
 * clusters. Their pods may be on nodes where the rules would not have placed them.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { isReschedulable } from "../../../apis/core/pod-predicates.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { fits, subtractResources } from "../../../apis/resources.ts";
import { atOnce } from "../../../base/steps.ts";
import {
  instanceType,
  nodeClaim,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
  ZONES,
} from "../../../testing/builders.ts";
import { deployment, podsOf } from "../../../testing/deployments.ts";
import type { NodeView } from "../../state/node-view.ts";
import type { SchedulingResult } from "../result.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import { solve } from "../solve.ts";
import { WhatIf } from "./what-if.ts";

const TAINT = { key: "dedicated", effect: "NoSchedule" as const };
const TYPES = [1, 2, 4, 8, 16].flatMap((cpu) =>
  ["amd64", "arm64"].map((arch) => instanceType({ name: `${arch}-${cpu}`, cpu, arch })),
);

const cluster = fc
  .record({
    deployments: fc.tuple(...["a", "b", "c", "d"].map(deployment)),
    nodes: fc.array(
      fc.record({
        zone: fc.constantFrom(...ZONES, "zone-of-old"),
        arch: fc.constantFrom("amd64", "arm64"),
        cpu: fc.constantFrom(2, 4, 16),
        pool: fc.constantFrom(0, 1),
        tainted: fc.boolean(),
      }),
      { minLength: 2, maxLength: 8 },
    ),
    limited: fc.boolean(),
    /** The node of each pod: this number modulo the number of nodes. Pods that do not fit there are pending. */
    places: fc.array(fc.nat(1_000), { minLength: 24, maxLength: 24 }),
    pending: fc.boolean(),
    daemons: fc.boolean(),
    questions: fc.array(fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 3 }), {
      minLength: 2,
      maxLength: 4,
    }),
  })
  .map(({ nodes, places, deployments, limited, daemons, questions }) => {
    const bare = nodes.map((one, index) => ({ ...one, name: `node-${index}`, pods: [] as Pod[] }));
    for (const [index, each] of deployments.flatMap(podsOf).entries()) {
      const host = bare[(places[index] ?? 0) % bare.length];
      if (host === undefined) continue;
      const free = viewOf(host).available;
      if (!fits(podRequests(each), free)) continue;
      host.pods.push({
        ...each,
        spec: Object.freeze({ ...each.spec, nodeName: host.name }),
        status: { phase: "Running" },
      });
    }
    const views = bare.map(viewOf);
    const usage = (name: string) =>
      views
        .filter(({ poolId }) => poolId === `nodepool/${name}`)
        .reduce(
          (sum, { capacity }) => ({ nodes: (sum["nodes"] ?? 0) + (capacity["nodes"] ?? 0) }),
          {
            nodes: 0,
          } as Record<string, number>,
        );
    const daemon = pod({ name: "agent", cpu: "250m", owner: { kind: "DaemonSet", name: "agent" } });
    const input = schedulingInput({
      nodes: views,
      daemonPods: daemons ? [daemon] : [],
      pools: ["pool-0", "pool-1"].map((name, index) => ({
        ...poolInput(
          {
            name,
            weight: index,
            taints: index === 1 ? [TAINT] : [],
            limits: limited ? { nodes: 3 } : {},
          },
          TYPES,
        ),
        usage: usage(name),
      })),
    });
    const asked = questions.map((one) =>
      [...new Set(one.map((at) => at % views.length))].map((at) => views[at] as NodeView),
    );
    return { input, asked };
  });

interface Bare {
  readonly name: string;
  readonly zone: string;
  readonly arch: string;
  readonly cpu: number;
  readonly pool: number;
  readonly tainted: boolean;
  readonly pods: readonly Pod[];
}

function viewOf({ name, zone, arch, cpu, pool, tainted, pods }: Bare): NodeView {
  const labels = {
    "karpenter.sh/nodepool": `pool-${pool}`,
    "karpenter.sh/registered": "true",
    "karpenter.sh/initialized": "true",
    "topology.kubernetes.io/zone": zone,
    "kubernetes.io/arch": arch,
    "kubernetes.io/hostname": name,
    "karpenter.sh/capacity-type": "on-demand",
  };
  return nodeView({
    node: {
      name,
      labels,
      capacity: { cpu: String(cpu), memory: "32Gi" },
      taints: tainted ? [TAINT] : [],
    },
    claim: nodeClaim({
      name,
      metadata: { labels },
      status: { providerID: `test://${name}`, nodeName: name },
    }),
    pods,
  });
}

type Answer = Pick<SchedulingResult, "newClaims" | "existing" | "unschedulable">;

/** The answer of a new engine for a cluster that never had the nodes `gone`. */
function afresh(input: SchedulingInput, gone: readonly NodeView[]): Answer {
  const names = new Set(gone.map(({ name }) => name));
  return solve({
    ...input,
    pods: gone.flatMap(({ pods }) => pods.filter(isReschedulable)),
    nodes: input.nodes.filter(({ name }) => !names.has(name)),
    pools: input.pools.map((one) => ({
      ...one,
      usage: gone
        .filter(({ poolId }) => poolId === one.pool.id)
        .reduce(
          (left, { capacity }) => subtractResources(left, { nodes: capacity["nodes"] ?? 0 }),
          one.usage,
        ),
    })),
  });
}

/** The parts of an answer that are shown to users. */
function shown({ newClaims, existing, unschedulable }: Answer): unknown {
  const keys = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);
  return {
    newClaims: newClaims.map(({ pool, pods, cheapest, requirements, instanceTypes, requests }) => [
      pool.name,
      keys(pods),
      cheapest,
      requirements,
      instanceTypes.map(({ name }) => name),
      requests,
    ]),
    existing: existing.map(({ nodeName, pods }) => [nodeName, keys(pods)]),
    unschedulable: unschedulable.map(({ pod: { metadata } }) => metadata.name),
  };
}

describe("WhatIf", () => {
  it("gives the same answers as a full solve, in any order of questions", () => {
    fc.assert(
      fc.property(cluster, ({ input, asked }) => {
        const whatIf = atOnce(WhatIf.of(input));
        for (const gone of [...asked, ...asked.toReversed()]) {
          const names = gone.map(({ name }) => name);
          const moving = gone.flatMap(({ pods }) => pods.filter(isReschedulable));
          expect(shown(atOnce(whatIf.without(names, moving)))).toEqual(shown(afresh(input, gone)));
          const leaving = gone.map(({ name: nodeName, pods }) => ({
            nodeName,
            pods: pods.filter(isReschedulable),
          }));
          // `together` must not change the cluster, whatever it answers.
          const going = atOnce(whatIf.together(leaving, () => true));
          const [first] = going;
          if (first !== undefined)
            expect(atOnce(whatIf.without([first.nodeName], first.pods)).newClaims).toEqual([]);
        }
      }),
      { numRuns: 80, seed: 7 },
    );
  });

  it("treats closed nodes as if they had no room left", () => {
    fc.assert(
      fc.property(cluster, fc.array(fc.nat(7)), ({ input, asked }, chosen) => {
        const closed = new Set(chosen.map((at) => `node-${at}`));
        const full = input.nodes.map((view) =>
          closed.has(view.name) ? { ...view, available: {} } : view,
        );
        const whatIf = atOnce(WhatIf.of(input));
        for (const gone of asked) {
          const names = gone.map(({ name }) => name);
          const moving = gone.flatMap(({ pods }) => pods.filter(isReschedulable));
          const open = shown(atOnce(whatIf.without(names, moving)));
          const answer = shown(atOnce(whatIf.without(names, moving, { closed })));
          expect(answer).toEqual(shown(afresh({ ...input, nodes: full }, gone)));
          expect(shown(atOnce(whatIf.without(names, moving)))).toEqual(open);
        }
      }),
      { numRuns: 30, seed: 7 },
    );
  });

  it("drops a zone with its last node if no pool can launch a node there", () => {
    const spread = {
      maxSkew: 1,
      topologyKey: "topology.kubernetes.io/zone",
      whenUnsatisfiable: "DoNotSchedule" as const,
      labelSelector: { matchLabels: { app: "a" } },
    };
    const nodes = [...ZONES, "zone-of-old"].map((zone) => {
      const name = `in-${zone}`;
      const spec = { topologySpreadConstraints: [spread] };
      const runs = pod({ name: `on-${name}`, nodeName: name, labels: { app: "a" }, spec });
      return viewOf({ name, zone, arch: "amd64", cpu: 4, pool: 0, tainted: false, pods: [runs] });
    });
    const old = nodes.at(-1) as NodeView;
    const answer = atOnce(
      atOnce(WhatIf.of(schedulingInput({ nodes }))).without([old.name], old.pods),
    );
    expect([answer.unschedulable, answer.existing.length]).toEqual([[], 1]);
  });

  it("leaves pending pods the room that they could use, and ignores those that fit nowhere", () => {
    const view = (name: string, cpu: number, pods: readonly Pod[]) =>
      viewOf({ name, zone: "zone-a", arch: "amd64", cpu, pool: 0, tainted: false, pods });
    const runs = (name: string, node: string, cpu: string) =>
      pod({ name, nodeName: node, cpu, status: { phase: "Running" } });
    const a = view("a", 4, [runs("mover", "a", "1")]);
    const b = view("b", 4, [runs("stays", "b", "1")]);
    const ask = (pods: readonly Pod[]) =>
      atOnce(atOnce(WhatIf.of(schedulingInput({ nodes: [a, b], pods }))).without(["a"], a.pods));
    expect(ask([]).existing.map(({ nodeName }) => nodeName)).toEqual(["b"]);
    // The pending pod takes the room on b, so the pods of a do not fit there any more.
    const waiting = ask([pod({ name: "waiting", cpu: "2500m" })]);
    expect(waiting.newClaims).toHaveLength(1);
    // The pod fits nowhere, so the answer for the other pods does not change.
    const hopeless = ask([pod({ name: "hopeless", cpu: "500" })]);
    expect([hopeless.newClaims, hopeless.unschedulable]).toEqual([[], []]);
  });

  it("undoes a node that it tried in vain while it collects nodes to remove together", () => {
    const view = (name: string, cpu: number, pods: readonly Pod[]) =>
      viewOf({ name, zone: "zone-a", arch: "amd64", cpu, pool: 0, tainted: false, pods });
    const ports = [{ containerPort: 80, hostPort: 80 }];
    const runs = (name: string, node: string, cpu: string, spec: Partial<Pod["spec"]> = {}) =>
      pod({ name, nodeName: node, cpu, spec, status: { phase: "Running" } });
    const listens = (name: string, node: string) => {
      const one = runs(name, node, "1");
      const containers = one.spec.containers.map((each) => ({ ...each, ports }));
      return { ...one, spec: { ...one.spec, containers } };
    };
    // The larger pod of the second node finds room. But its port is then taken by a pod of the first node.
    const leaving = [
      view("a", 1, [listens("a-1", "a")]),
      view("b", 3, [runs("b-1", "b", "2"), listens("b-2", "b")]),
      view("c", 2, [runs("c-1", "c", "2")]),
    ];
    const whatIf = atOnce(
      WhatIf.of(schedulingInput({ nodes: [...leaving, view("target", 4, [])] })),
    );
    const asked = leaving.map((one) => ({ nodeName: one.name, pods: one.pods }));
    const going = atOnce(whatIf.together(asked, () => true));
    expect(going.map(({ nodeName }) => nodeName)).toEqual(["a", "c"]);
  });
});

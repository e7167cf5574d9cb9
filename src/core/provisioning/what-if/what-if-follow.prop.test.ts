/**
 * A what-if that was updated through many cluster changes gives the same answers as a new one. Hundreds of changes
 * leave no garbage.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { isReschedulable } from "../../../apis/core/pod-predicates.ts";
import { keyOf } from "../../../apis/meta.ts";
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
import type { SchedulingInput } from "../scheduling-input.ts";
import { WhatIf, type Without } from "./what-if.ts";

const TYPES = [1, 2, 4, 8, 16].map((cpu) => instanceType({ name: `type-${cpu}`, cpu }));

interface Bare {
  readonly name: string;
  readonly zone: string;
  readonly cpu: number;
  readonly pool: number;
  readonly initialized: boolean;
  readonly deleting: boolean;
  readonly pods: readonly Pod[];
}

interface State {
  readonly nodes: readonly Bare[];
  readonly pending: readonly Pod[];
  readonly born: number;
}

const KINDS = ["join", "leave", "delete", "initialize", "evict", "bind", "move", "end"] as const;
type Edit = readonly [kind: (typeof KINDS)[number], which: number, to: number];

const views = new WeakMap<Bare, NodeView>();

function viewOf(bare: Bare): NodeView {
  const known = views.get(bare);
  if (known !== undefined) return known;
  const { name, zone, cpu, pool, initialized, deleting, pods } = bare;
  const labels = {
    "karpenter.sh/nodepool": `pool-${pool}`,
    "karpenter.sh/registered": "true",
    ...(initialized ? { "karpenter.sh/initialized": "true" } : {}),
    "topology.kubernetes.io/zone": zone,
    "kubernetes.io/hostname": name,
    "node.kubernetes.io/instance-type": `type-${cpu}`,
    "karpenter.sh/capacity-type": "on-demand",
  };
  const view = nodeView({
    node: { name, labels, capacity: { cpu: String(cpu), memory: "32Gi" } },
    claim: nodeClaim({
      name,
      metadata: { labels },
      status: { providerID: `test://${name}`, nodeName: name },
    }),
    pods: pods.map((one) => ({
      ...one,
      spec: Object.freeze({ ...one.spec, nodeName: name }),
      status: { phase: "Running" },
    })),
    deleting,
  });
  views.set(bare, view);
  return view;
}

function edited(state: State, [kind, which, to]: Edit): State {
  const { nodes, pending } = state;
  const at = which % Math.max(1, nodes.length);
  const node = nodes[at];
  const put = (change: Partial<Bare>, index = at): readonly Bare[] =>
    nodes.map((one, position) => (position === index ? { ...one, ...change } : one));
  if (kind === "join" || node === undefined) {
    const zone = [...ZONES, "zone-of-old"][to % 4] as string;
    const name = `node-${String((which * 7) % 100)}-${state.born}`;
    const fresh = { name, zone, cpu: [2, 4, 16][to % 3] as number, pool: to % 2, pods: [] };
    const born = { ...fresh, initialized: to % 5 > 0, deleting: false };
    return { ...state, nodes: [...nodes, born], born: state.born + 1 };
  }
  const [first, ...others] = node.pods;
  switch (kind) {
    case "leave":
      return {
        ...state,
        nodes: nodes.filter((one) => one !== node),
        pending: [...pending, ...node.pods],
      };
    case "delete":
      return { ...state, nodes: put({ deleting: !node.deleting }) };
    case "initialize":
      return { ...state, nodes: put({ initialized: !node.initialized }) };
    case "evict":
      if (first === undefined) return state;
      return { ...state, nodes: put({ pods: others }), pending: [...pending, first] };
    case "bind": {
      const [next, ...rest] = pending;
      if (next === undefined) return state;
      return { ...state, nodes: put({ pods: [...node.pods, next] }), pending: rest };
    }
    case "move": {
      const other = to % nodes.length;
      if (first === undefined || other === at) return state;
      const without = put({ pods: others });
      return {
        ...state,
        nodes: without.map((one, index) =>
          index === other ? { ...one, pods: [...one.pods, first] } : one,
        ),
      };
    }
    case "end":
      return first === undefined ? state : { ...state, nodes: put({ pods: others }) };
  }
}

function inputOf({ nodes, pending }: State, limited: boolean): SchedulingInput {
  const all = nodes.map(viewOf).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const leaving = all
    .filter(({ deleting }) => deleting)
    .flatMap(({ pods }) => pods.filter(isReschedulable));
  const used = (index: number) => nodes.filter((one) => one.pool === index && !one.deleting).length;
  const agent = pod({ name: "agent", cpu: "250m", owner: { kind: "DaemonSet", name: "agent" } });
  return schedulingInput({
    nodes: all,
    pods: [...pending, ...leaving].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
    daemonPods: [agent],
    pools: [0, 1].map((index) => ({
      ...poolInput(
        { name: `pool-${index}`, weight: index, limits: limited ? { nodes: 4 } : {} },
        TYPES,
      ),
      usage: { nodes: used(index) },
    })),
  });
}

function shown({ newClaims, existing, unschedulable }: Without): unknown {
  const keys = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);
  return {
    newClaims: newClaims.map(({ pool, pods, cheapest, requests }) => [
      pool.name,
      keys(pods),
      cheapest,
      requests,
    ]),
    existing: existing.map(({ nodeName, pods }) => [nodeName, keys(pods)]),
    unschedulable: unschedulable.map(({ pod: { metadata }, message }) => [metadata.name, message]),
  };
}

/** The lists of pools that pods of each kind could use, without regard to order. */
function openTo(whatIf: WhatIf): readonly string[] {
  return [...new Set(whatIf.openTo().map((ids) => ids.toSorted().join()))].sort();
}

const scene = fc.record({
  deployments: fc.tuple(...["a", "b", "c", "d"].map(deployment)),
  limited: fc.boolean(),
  start: fc.array(fc.tuple(fc.constant("join" as const), fc.nat(1_000), fc.nat(1_000)), {
    minLength: 3,
    maxLength: 6,
  }),
  binds: fc.array(fc.nat(1_000), { minLength: 12, maxLength: 12 }),
  rounds: fc.array(
    fc.array(fc.tuple(fc.constantFrom(...KINDS), fc.nat(1_000), fc.nat(1_000)), {
      minLength: 1,
      maxLength: 4,
    }),
    { minLength: 4, maxLength: 8 },
  ),
});

describe("WhatIf.follow", () => {
  it("gives the same answers as a new WhatIf after any changes", () => {
    let followed = 0;
    let rounds = 0;
    fc.assert(
      fc.property(scene, (one) => {
        let state: State = { nodes: [], pending: one.deployments.flatMap(podsOf), born: 0 };
        for (const edit of one.start) state = edited(state, edit);
        for (const which of one.binds) state = edited(state, ["bind", which, 0]);
        // As in production, pools and instance types stay the same objects in all states.
        let input = inputOf(state, one.limited);
        let whatIf = atOnce(WhatIf.of(input));
        for (const round of one.rounds) {
          for (const edit of round) state = edited(state, edit);
          input = inputOf(state, one.limited);
          rounds++;
          if (atOnce(whatIf.follow(input))) followed++;
          else whatIf = atOnce(WhatIf.of(input));
          const fresh = atOnce(WhatIf.of(input));
          expect(openTo(whatIf)).toEqual(openTo(fresh));
          for (const view of input.nodes) {
            if (view.deleting) continue;
            const moving = view.pods.filter(isReschedulable);
            const answer = shown(atOnce(whatIf.without([view.name], moving)));
            expect(answer).toEqual(shown(atOnce(fresh.without([view.name], moving))));
          }
        }
      }),
      { numRuns: 30, seed: 11 },
    );
    // The test proves something only if most updates succeed, instead of preparing a new what-if.
    expect(followed / rounds).toBeGreaterThan(0.7);
  });

  it("drops the pools that only deleted pods could use", () => {
    const taints = [{ key: "team", value: "a", effect: "NoSchedule" as const }];
    const pools = [
      poolInput({ name: "open" }, TYPES),
      poolInput({ name: "closed", taints }, TYPES),
    ];
    const guest = pod({
      name: "guest",
      spec: { tolerations: [{ key: "team", operator: "Exists" }] },
    });
    const bare = { cpu: 4, pool: 0, initialized: true, deleting: false, zone: "zone-a" };
    const input = (deleting: boolean, ...pods: Pod[]) =>
      schedulingInput({ nodes: [viewOf({ ...bare, name: "node", deleting, pods })], pools });
    const whatIf = atOnce(WhatIf.of(input(false, pod({ name: "host" }))));
    expect(openTo(whatIf)).toEqual(["nodepool/open"]);
    expect(atOnce(whatIf.follow(input(false, pod({ name: "host" }), guest)))).toBe(true);
    expect(openTo(whatIf)).toEqual(["nodepool/closed,nodepool/open", "nodepool/open"]);
    expect(atOnce(whatIf.follow(input(false, pod({ name: "host" }))))).toBe(true);
    expect(openTo(whatIf)).toEqual(["nodepool/open"]);
    expect(atOnce(whatIf.follow(input(true, pod({ name: "host" }))))).toBe(true);
    expect(openTo(whatIf)).toEqual([]);
  });

  it("takes over volumes that are bound in another zone, created or deleted", () => {
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
    const mover = pod({ name: "mover", cpu: "1", spec: { volumes } });
    const bare = { cpu: 4, pool: 0, initialized: true, deleting: false };
    const nodes = ["zone-a", "zone-b", "zone-c"].map((zone) =>
      viewOf({ ...bare, name: `in-${zone}`, zone, pods: zone === "zone-a" ? [mover] : [] }),
    );
    const claim = (volumeName?: string) => ({
      metadata: {
        name: "data",
        namespace: "default",
        annotations: { "pv.kubernetes.io/bind-completed": "yes" },
      },
      spec: { storageClassName: "gp3", ...(volumeName === undefined ? {} : { volumeName }) },
    });
    const volume = (zone: string) => {
      const here = { key: "topology.kubernetes.io/zone", operator: "In" as const, values: [zone] };
      const required = { nodeSelectorTerms: [{ matchExpressions: [here] }] };
      return { metadata: { name: "pv" }, spec: { nodeAffinity: { required } } };
    };
    const gp3 = {
      metadata: { name: "gp3" },
      provisioner: "ebs.csi.aws.com",
      volumeBindingMode: "WaitForFirstConsumer" as const,
    };
    const pools = [poolInput({ name: "pool-0" }, TYPES)];
    const input = (claims: SchedulingInput["volumes"]["claims"], zone: string) =>
      schedulingInput({
        nodes,
        pools,
        volumes: { claims, volumes: [volume(zone)], classes: [gp3], csiNodes: [] },
      });
    const bound = [claim("pv")];
    const whatIf = atOnce(WhatIf.of(input(bound, "zone-b")));
    const moving = nodes[0]?.pods ?? [];
    const ask = (one: WhatIf) => shown(atOnce(one.without(["in-zone-a"], moving)));
    const answers = [
      input(bound, "zone-b"),
      input(bound, "zone-c"),
      input([claim()], "zone-c"),
      input([], "zone-c"),
      input(bound, "zone-c"),
    ].map((next) => {
      expect(atOnce(whatIf.follow(next))).toBe(true);
      expect(ask(whatIf)).toEqual(ask(atOnce(WhatIf.of(next))));
      return JSON.stringify(ask(whatIf));
    });
    // Without a volume of its own, the claim gives the same answer as if it did not exist. The other two answers depend
    // on the zone.
    expect(new Set(answers).size).toBe(3);
  });
});

import { describe, expect, it } from "vitest";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { atOnce } from "../../base/steps.ts";
import {
  pool as buildPool,
  instanceType,
  nodeClaim,
  nodeView,
  pod,
  schedulingInput,
} from "../../testing/builders.ts";
import {
  type CandidateOptions,
  candidate,
  roundOf as closedRoundOf,
} from "../../testing/disruption.ts";
import type { Offering } from "../cloudprovider/instance-type.ts";
import { planStaticNodes } from "../provisioning/static-nodes.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
import { type Command, decisionOf } from "./command.ts";
import { protectedPods as kept, pendingEvictions } from "./competing-pods.ts";
import { replacementBackOff } from "./consolidation.ts";
import type { Proposal } from "./methods/method.ts";
import { staticDrift } from "./methods/static-drift.ts";
import { withRecord } from "./record.ts";
import { countStatic, missing, surplus } from "./static-pools.ts";

const pool = (replicas: number, limits = {}) => buildPool({ replicas, limits });
const types = [2, 4].map((cpu) => instanceType({ cpu }));

function there(name: string, zone = "zone-a", pods: Parameters<typeof pod>[0][] = []): NodeView {
  const labels = { "karpenter.sh/nodepool": "default", "topology.kubernetes.io/zone": zone };
  const ready = { "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true" };
  return nodeView({
    node: { name, labels: { ...labels, ...ready } },
    claim: nodeClaim({
      name,
      metadata: { labels },
      status: { providerID: `test://${name}`, nodeName: name },
    }),
    pods: pods.map((options) => pod({ nodeName: name, ...options })),
  });
}

const GUARD: PodDisruptionBudget = {
  metadata: { name: "guard", namespace: "default" },
  spec: { selector: { matchLabels: { app: "web" } } },
};

const names = (nodes: readonly { readonly name: string }[]) => nodes.map(({ name }) => name);

describe("new nodes of a static pool", () => {
  const plan = (nodes: readonly NodeView[], count: number, limits = {}) => {
    const input = { pool: pool(9, limits), instanceTypes: types, usage: { nodes: nodes.length } };
    return atOnce(planStaticNodes(schedulingInput({ nodes }), input, count)).newClaims;
  };

  it("are as many as requested, without pods, of the cheapest type", () => {
    const planned = plan([], 3);
    expect(planned).toHaveLength(3);
    expect(planned.map(({ pods }) => pods.length)).toEqual([0, 0, 0]);
    expect(planned[0]?.cheapest.instanceType).toBe("m-2x");
    expect(planned[0]?.requests["pods"] ?? 0).toBe(0);
  });

  it("go to the zones with the fewest nodes of the pool", () => {
    const zones = plan([there("a"), there("b", "zone-b")], 4).map(({ cheapest }) => cheapest.zone);
    expect(zones.toSorted()).toEqual(["zone-a", "zone-b", "zone-c", "zone-c"]);
  });

  it("stop at limits.nodes", () => {
    expect(plan([there("a")], 5, { nodes: 3 })).toHaveLength(2);
  });
});

describe("the node count of a static pool", () => {
  it("is short by the nodes that neither exist nor are being replaced by a command", () => {
    const a = there("a");
    const b = there("b");
    const record = {
      id: "c",
      reason: "Drifted",
      consolidationType: "",
      startedAt: "2026-01-01T00:00:00Z",
      nodes: ["b"],
      replacements: 1,
    } as const;
    const marked = { ...b, claim: withRecord(b.claim as never, record) };
    const count = countStatic(pool(4), [a, marked, { ...there("c"), deleting: true }]);
    expect([names(count.active), count.leavingByCommand, count.deleting]).toEqual([["a"], 1, 1]);
    expect(missing(pool(4), count)).toEqual({ count: 2, limited: false });
    expect(missing(pool(4, { nodes: 4 }), count)).toEqual({ count: 1, limited: true });
    expect(missing(pool(1), count)).toEqual({ count: 0, limited: false });
  });

  it("removes surplus nodes without an instance first, then empty ones, do-not-disrupt ones last", () => {
    const guard = { "karpenter.sh/do-not-disrupt": "true" };
    const nodes = [
      there("guarded", "zone-a", [{ name: "g", annotations: guard }]),
      there("busy", "zone-a", [{ name: "x" }, { name: "y" }]),
      there("used", "zone-b", [{ name: "z" }]),
      there("empty-a"),
      there("empty-b", "zone-b"),
      { ...there("coming"), providerId: undefined },
    ];
    const order = names(surplus(pool(0), countStatic(pool(0), nodes), 0));
    expect(order).toEqual(["coming", "empty-a", "empty-b", "used", "busy", "guarded"]);
    expect(names(surplus(pool(5), countStatic(pool(5), nodes), 0))).toEqual(["coming"]);
    expect(surplus(pool(9), countStatic(pool(9), nodes), 0)).toEqual([]);
  });
});

describe("surplus nodes of a static pool with equally many pods", () => {
  it("go in the order of the share of their lifetime that is left", () => {
    const born = "2026-01-01T00:00:00Z";
    const living = (name: string, expireAfter: string) => {
      const view = there(name, "zone-a", [{ name: `pod-${name}` }]);
      const claim = nodeClaim({ name, expireAfter, metadata: { creationTimestamp: born } });
      return { ...view, claim };
    };
    const nodes = [living("a", "Never"), living("b", "40h"), living("c", "20h"), living("d", "1h")];
    const nowMs = Date.parse(born) + 10 * 3_600_000;
    expect(names(surplus(pool(0), countStatic(pool(0), nodes), nowMs))).toEqual([
      "d",
      "c",
      "b",
      "a",
    ]);
    expect(names(surplus(pool(3), countStatic(pool(3), nodes), nowMs))).toEqual(["d"]);
  });
});

/** A round with the feature gate TerminateFirstDrift enabled. */
const roundOf: typeof closedRoundOf = (candidates, options) =>
  closedRoundOf(candidates, { terminateFirst: { drift: true, repair: false }, ...options });

describe("drift of static pools", () => {
  const drifted = (name: string, limits = {}, pods: readonly string[] = ["1"]) =>
    candidate(name, {
      pool: { replicas: 2, limits },
      conditions: { Drifted: 60_000 },
      pods,
    } satisfies CandidateOptions);

  it("replaces each drifted node, as budgets allow", () => {
    const both = [drifted("a"), drifted("b")];
    const { commands } = atOnce(staticDrift.propose(roundOf(both)));
    expect(
      commands.map((one) => [
        names(one.candidates.map(({ node }) => node)),
        one.replacements.length,
      ]),
    ).toEqual([
      [["a"], 1],
      [["b"], 1],
    ]);
    expect(atOnce(staticDrift.propose(roundOf(both, { allowed: 1 }))).commands).toHaveLength(1);
    expect(atOnce(staticDrift.propose(roundOf(both, { allowed: 0 }))).commands).toEqual([]);
  });

  it("replaces as many nodes as the pool's limits leave room for", () => {
    const replaced = (cpu: number) => {
      const both = [drifted("a", { cpu }), drifted("b", { cpu })];
      const { commands } = atOnce(staticDrift.propose(roundOf(both)));
      expect(commands.every(({ replacements }) => replacements.length === 1)).toBe(true);
      return commands.flatMap(({ candidates }) => candidates.map(({ node }) => node.name));
    };
    expect([100_000, 2_000, 0].map(replaced)).toEqual([["a", "b"], ["a"], []]);
  });

  it("counts all nodes of a round when it holds off moves of pods", () => {
    const both = [drifted("a"), drifted("b")];
    const holdOff = ({ candidates }: Command) =>
      candidates.length > 1 ? { message: "moved often enough" } : undefined;
    const { commands, remarks } = atOnce(staticDrift.propose(roundOf(both, { holdOff })));
    expect(commands.map(({ candidates }) => candidates.map(({ node }) => node.name))).toEqual([
      ["a"],
    ]);
    expect(remarks.map(({ candidate, message }) => [candidate.node.name, message])).toEqual([
      ["b", "moved often enough"],
    ]);
  });

  it("replaces no node of a pool whose last replacement failed, until the back-off ends", () => {
    const both = [drifted("a"), drifted("b")];
    const input = roundOf(both, { backingOff: new Map([["nodepool/default", 90_000]]) });
    expect(atOnce(staticDrift.propose(input))).toEqual({ commands: [], remarks: [] });
    const pools = both.map(({ pool }) => pool);
    expect(replacementBackOff(pools, input.holdOffs)).toMatchObject({
      kind: "backingOff",
      untilMs: 90_000,
    });
    expect(replacementBackOff(pools, roundOf(both).holdOffs)).toBeUndefined();
  });

  it("terminates one node first if limits.nodes leaves no room for a replacement", () => {
    const limits = { nodes: 2 };
    const { commands } = atOnce(
      staticDrift.propose(roundOf([drifted("a", limits), drifted("b", limits)])),
    );
    expect(commands.map(({ replacements }) => replacements.length)).toEqual([0]);
    expect(commands.map(decisionOf)).toEqual(["terminate-first"]);
  });

  it("terminates no node first if the feature gate is off, and says why", () => {
    const limits = { nodes: 2 };
    const { commands, remarks } = atOnce(
      staticDrift.propose(closedRoundOf([drifted("a", limits), drifted("b", limits)])),
    );
    const why = "static NodePool is at its node limit and cannot stage a replacement";
    expect([
      commands,
      remarks.map(({ candidate: { node }, message }) => [node.name, message]),
    ]).toEqual([
      [],
      [
        ["a", why],
        ["b", why],
      ],
    ]);
  });

  it("terminates a reserved node first if its reservation is full and no other offering exists", () => {
    const key = "karpenter.k8s.aws/capacity-reservation-id";
    const offering = (id: string): Offering => ({
      zone: "zone-a",
      capacityType: "reserved",
      priceMicroUsd: 0,
      available: true,
      reservationCapacity: 0,
      labels: { [key]: id },
    });
    const type = instanceType({ cpu: 4 });
    const full = [{ ...type, offerings: [offering("cr-1")] }];
    const held = (name: string, id: string): Candidate => {
      const one = drifted(name);
      const labels = { ...one.node.labels, "karpenter.sh/capacity-type": "reserved", [key]: id };
      return { ...one, node: { ...one.node, labels } };
    };
    const both = [held("a", "cr-1"), held("b", "cr-gone")];
    const { commands, remarks } = atOnce(staticDrift.propose(roundOf(both, { types: full })));
    expect(
      commands.map(({ candidates, terminateFirst }) => [candidates[0]?.node.name, terminateFirst]),
    ).toEqual([["a", "no-reserved-capacity"]]);
    expect(remarks.map(({ candidate: { node }, message }) => [node.name, message])).toEqual([
      ["b", "static NodePool's capacity reservations are full and cannot stage a replacement"],
    ]);
    // Either another offering exists but is not available now, or there is none at all. In both cases reservations are
    // not the reason.
    const other = { ...offering("x"), capacityType: "on-demand" as const, available: false };
    for (const types of [[{ ...type, offerings: [offering("cr-1"), other] }], []])
      expect(atOnce(staticDrift.propose(roundOf(both, { types }))).commands).toEqual([]);
  });

  it("terminates no node first if a protected pod has no place elsewhere", () => {
    const limits = { nodes: 2 };
    const [full, other] = [drifted("a", limits, ["3"]), drifted("b", limits, ["3"])];
    const nowhereElse = { scheduling: { pools: [] } };
    const protectedPods = (candidates: readonly Candidate[]) =>
      new Set(candidates.flatMap(({ reschedulablePods }) => reschedulablePods));
    const asked = (candidates: readonly Candidate[], options: Parameters<typeof roundOf>[1]) =>
      atOnce(staticDrift.propose(roundOf(candidates, { ...nowhereElse, ...options })));
    const { commands, remarks, hasSimulated: costly } = asked([full, other], { protectedPods });
    expect(commands).toEqual([]);
    // Each node was simulated. The method does not run again until a fact changes.
    expect(costly).toBe(true);
    expect(remarks.map(({ candidate, about }) => [candidate.node.name, about])).toEqual([
      ["a", "blocked"],
      ["b", "blocked"],
    ]);
    expect(remarks[0]?.message).toMatch(
      /^limits.nodes leaves no room .* pod "default\/a-0" may go only once another .*: default\/a-0 => /,
    );
    // Nodes are removed if their pods may be evicted now or have a place elsewhere, even if another node comes first in
    // the list.
    expect(asked([full, other], {}).commands).toHaveLength(1);
    expect(asked([full, other], {}).hasSimulated).toBeUndefined();
    const roomy = drifted("b", limits, ["100m"]);
    expect(asked([full, roomy], { protectedPods }).commands).toHaveLength(1);
    const more = { nodes: 3 };
    const both = ["a", "b"].map((name) => drifted(name, more, ["3"]));
    expect(asked(both, { protectedPods }).commands).toHaveLength(1);
  });

  describe("of several static pools at their limits", () => {
    const limits = { nodes: 1 };
    const alone = (name: string, pods: readonly string[]) =>
      candidate(name, {
        pool: { name: `pool-${name}`, id: `nodepool/pool-${name}`, replicas: 1, limits },
        conditions: { Drifted: 60_000 },
        pods,
        podLabels: { app: "web" },
      } satisfies CandidateOptions);
    const going = ({ commands }: Proposal) =>
      commands.map(({ candidates }) => candidates.map(({ node }) => node.name).join());

    it("terminates first only as many nodes as a PodDisruptionBudget allows together", () => {
      const both = [alone("a", ["1", "1"]), alone("b", ["1", "1"])];
      const under = (disruptionsAllowed: number, left = both, leaves: readonly NodeView[] = []) => {
        const pdbs = [{ ...GUARD, status: { disruptionsAllowed } }];
        const facts = {
          pending: () => pendingEvictions(leaves, pdbs),
          pdbs,
          movesFirst: () => false,
        };
        const protectedPods = (candidates: readonly Candidate[]) => kept(candidates, facts);
        const input = roundOf(left, { scheduling: { pools: [] }, protectedPods });
        return atOnce(staticDrift.propose(input));
      };
      expect(going(under(4))).toEqual(["a", "b"]);
      const first = under(2);
      expect(going(first)).toEqual(["a"]);
      expect(first.remarks.map(({ candidate, message }) => [candidate.node.name, message])).toEqual(
        [
          [
            "b",
            expect.stringMatching(
              /before this one is gone, while a goes, and pod "default\/b-0" may go only once/,
            ),
          ],
        ],
      );
      // The second node is not removed in the same round as the first, but later, when the pods of the first run again.
      const [leaves, left] = [both.slice(0, 1), both.slice(1)];
      const leaving = leaves.map(({ node }) => ({ ...node, deleting: true }));
      expect(going(under(2, left, leaving))).toEqual([]);
      expect(going(under(2, left))).toEqual(["b"]);
    });

    it("terminates both nodes first only if the same other node has room for both", () => {
      const protectedPods = (candidates: readonly Candidate[]) =>
        new Set(candidates.flatMap(({ reschedulablePods }) => reschedulablePods));
      const room = candidate("room", {
        pool: { name: "other", id: "nodepool/other" },
        conditions: {},
      }).node;
      const asked = (cpu: string) =>
        atOnce(
          staticDrift.propose(
            roundOf([alone("a", [cpu]), alone("b", [cpu])], {
              scheduling: { pools: [], nodes: [room] },
              protectedPods,
            }),
          ),
        );
      expect(going(asked("1"))).toEqual(["a", "b"]);
      expect(going(asked("3"))).toEqual(["a"]);
    });

    it.each(["a", "z"])(
      "terminates no node first whose pods fit only on node %s, replaced in the same round",
      (other) => {
        const protectedPods = (candidates: readonly Candidate[]) =>
          new Set(candidates.flatMap(({ reschedulablePods }) => reschedulablePods));
        const full = alone("b", ["1"]);
        const roomy = candidate(other, {
          pool: { name: `pool-${other}`, id: `nodepool/pool-${other}`, replicas: 1 },
          conditions: { Drifted: 60_000 },
          pods: ["1"],
        });
        const asked = (candidates: readonly Candidate[], nodes: readonly NodeView[] = []) =>
          atOnce(
            staticDrift.propose(
              roundOf(candidates, { scheduling: { pools: [], nodes: [...nodes] }, protectedPods }),
            ),
          );
        expect(going(asked([full], [roomy.node]))).toEqual(["b"]);
        const { commands, remarks } = asked([roomy, full]);
        expect(commands.map(({ replacements }) => replacements.length)).toEqual([1]);
        expect(going({ commands, remarks })).toEqual([other]);
        expect(remarks.map(({ candidate, message }) => [candidate.node.name, message])).toEqual([
          ["b", expect.stringMatching(/before this one is gone, and pod "default\/b-0"/)],
        ]);
      },
    );
  });

  it("terminates one node at a time, the next once the pool is complete", () => {
    const limits = { nodes: 2 };
    const [a, b] = [drifted("a", limits), drifted("b", limits)];
    const joining = { ...b, node: { ...b.node, initialized: false } };
    const leaving = { ...there("old"), deleting: true };
    const asked = (candidates: (typeof a)[], nodes: NodeView[]) =>
      atOnce(staticDrift.propose(roundOf(candidates, { scheduling: { nodes } }))).commands;
    expect(asked([a], [joining.node])).toEqual([]);
    expect(asked([a, b], [leaving])).toEqual([]);
    expect(asked([a, b], [])).toHaveLength(1);
  });

  it("waits for a node that is being deleted if limits.nodes leaves room after it", () => {
    const limits = { nodes: 3 };
    const both = [drifted("a", limits), drifted("b", limits)];
    const leaving = { ...there("old"), deleting: true };
    const asked = (nodes: NodeView[]) =>
      atOnce(staticDrift.propose(roundOf(both, { scheduling: { nodes } }))).commands;
    expect(asked([leaving])).toEqual([]);
    expect(asked([]).map(({ replacements }) => replacements.length)).toEqual([1]);
  });

  it("launches a replacement in the zone of the node that it replaces", () => {
    const b = candidate("b", { pool: { replicas: 3 }, conditions: { Drifted: 60_000 } });
    const labels = { ...b.node.labels, "topology.kubernetes.io/zone": "zone-b" };
    const one = { ...b, node: { ...b.node, labels } };
    const nodes = [there("a", "zone-a"), there("c", "zone-c")];
    const { commands } = atOnce(staticDrift.propose(roundOf([one], { scheduling: { nodes } })));
    expect(commands.map(({ replacements }) => replacements[0]?.cheapest.zone)).toEqual(["zone-b"]);
  });
});

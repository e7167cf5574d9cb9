import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import { atOnce } from "../../base/steps.ts";
import { pod } from "../../testing/builders.ts";
import { candidate } from "../../testing/disruption.ts";
import { quietModel } from "../../testing/quiet-model.ts";
import type { ClusterState } from "../state/cluster.ts";
import { createClusterState } from "../state/create-cluster-state.ts";
import { type Fleet, fleetOf } from "./fleet.ts";

const NO_PLAN = { existing: [], newClaims: [], unschedulable: [], excludedByLimits: [] };
const NAMES = ["n0", "n1", "n2"];
const OWNED = NAMES.map((name) => candidate(name));
const [{ pool, instanceType } = candidate("n0")] = OWNED;
const POOLS = [{ pool, instanceTypes: [instanceType as never], usage: {} }];
const restraint = {
  ...{ minSavingsPercent: 0, maxPaybackMs: 0, replacementRestMs: 0, maxMovesPerPodHour: 4 },
};

function fleetIn(state: ClusterState, before?: Fleet): Fleet {
  const model = quietModel({ pools: POOLS, nodes: state.nodes(), restraint });
  // One picture of the cluster's budgets, as the console keeps it.
  return atOnce(fleetOf({ ...model, picture: { ...model.picture, pdbs: PDBS } }, NO_PLAN, before));
}
const PDBS: never[] = [];

function stateOf(nodes: ReadonlySet<string>, pods: Iterable<Pod>): ClusterState {
  const state = createClusterState();
  for (const { node } of OWNED) {
    if (!nodes.has(node.name)) continue;
    state.updateNode(node.node as Node);
    state.updateClaim(node.claim as NodeClaim);
  }
  for (const one of pods) state.updatePod(one);
  return state;
}

/** A change: a pod is put on a node or deleted, a node goes or comes back. Or nothing happens. */
const changes = fc.array(
  fc.record({
    does: fc.constantFrom("put", "put", "delete", "node", "nothing"),
    name: fc.nat(5),
    node: fc.nat(2),
    cpu: fc.constantFrom("1", "2"),
  }),
  { maxLength: 25 },
);

describe("a fleet that is made from the previous one", () => {
  it("equals one that is made from nothing, and keeps its nodes and sums while no node changed", () => {
    fc.assert(
      fc.property(changes, (drawn) => {
        const nodes = new Set(NAMES);
        const pods = new Map<string, Pod>();
        const state = stateOf(nodes, []);
        let fleet: Fleet | undefined;
        drawn.forEach(({ does, name, node: at, cpu }, version) => {
          const nodeName = NAMES[at] as string;
          const owned = OWNED[at] as (typeof OWNED)[number];
          if (does === "put") {
            const one = pod({ name: `p${name}`, cpu, nodeName });
            const metadata = { ...one.metadata, resourceVersion: String(version + 1) };
            const put = { ...one, metadata };
            pods.set(keyOf(put), put);
            state.updatePod(put);
          } else if (does === "delete") {
            const key = keyOf(pod({ name: `p${name}` }));
            pods.delete(key);
            state.deletePod(key);
          } else if (does === "node" && nodes.delete(nodeName)) {
            state.deleteNode(nodeName);
            state.deleteClaim(owned.node.claim?.metadata.name ?? "", "NodeClaim");
          } else if (does === "node") {
            nodes.add(nodeName);
            state.updateNode(owned.node.node as Node);
            state.updateClaim(owned.node.claim as NodeClaim);
          }
          const next = fleetIn(state, fleet);
          expect(next).toEqual(fleetIn(stateOf(nodes, pods.values())));
          if (fleet !== undefined && does === "nothing") {
            expect(next.nodes).toBe(fleet.nodes);
            expect(next.totals).toBe(fleet.totals);
          }
          fleet = next;
        });
      }),
      { numRuns: 60 },
    );
  });
});

describe("the waiting pods of a fleet", () => {
  const at = "2026-01-01T00:00:00Z";
  const aged = (name: string, nodeName?: string): Pod => {
    const one = pod({ name, ...(nodeName === undefined ? {} : { nodeName }) });
    return { ...one, metadata: { ...one.metadata, creationTimestamp: at } };
  };
  const waitingIn = (plan: object) =>
    atOnce(fleetOf(quietModel({ pools: POOLS, nodes: [], restraint }), { ...NO_PLAN, ...plan }));

  it("are those without a node, not those that a plan moves off a leaving node", () => {
    const existing = [{ nodeName: "n1", pods: [aged("moves", "n0"), aged("pending")] }];
    const { waiting, totals } = waitingIn({ existing });
    expect(waiting).toEqual([
      { waitingFor: "nodeExists", pods: 1, example: "default/pending", since: at },
    ]);
    expect(totals.waiting).toBe(1);
  });

  it("include a pod of a leaving node that fits nowhere else, without the age of the pod", () => {
    const stuck = { pod: aged("stuck", "n0"), pools: [], message: "no pool" };
    const { waiting } = waitingIn({ unschedulable: [stuck] });
    expect(waiting).toEqual([
      { waitingFor: "nothing", rejected: {}, reason: "no pool", pods: 1, example: "default/stuck" },
    ]);
  });
});

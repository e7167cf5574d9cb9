import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { node, nodeClaim, nodeView, pod } from "../../testing/builders.ts";
import type { ClusterState } from "./cluster.ts";
import { createClusterState } from "./create-cluster-state.ts";
import { PoolUsage } from "./pool-usage.ts";

const POOLS = ["a", "b"];
const KINDS = ["NodeClaim", "Machine"];
const WHAT = ["node", "claim", "pod", "mark", "replace", "unmark", "nominate", "gone", "unclaimed"];

/** A model of which claims will replace which nodes, from the changes that the state got. */
class ReplacementModel {
  readonly #nodes = new Set<string>();
  /** For each claim: whether it is leaving. */
  readonly #claims = new Map<string, boolean>();
  /** For each node: the claim that replaces it. */
  readonly #expected = new Map<string, string>();

  apply({ what, index, kind, named, leaving }: Change): void {
    const [node, claim] = [`n${index}`, `${kind}/c${index}`];
    if (what === "node") this.#nodes.add(node);
    if (what === "claim") this.#claims.set(claim, leaving);
    if (what === "unclaimed") this.#claims.delete(claim);
    if (what === "replace") this.#expected.set(node, successorOf(index));
    const isGone = what === "gone" && this.#nodes.delete(node);
    if (isGone || (what === "unmark" && named)) this.#expected.delete(node);
  }

  /** Whether the node is kept, because its replacement will not be launched. */
  isKept(node: string): boolean {
    const claim = this.#expected.get(node);
    return (
      claim !== undefined && KINDS.every((kind) => this.#claims.get(`${kind}/${claim}`) !== false)
    );
  }
}

function successorOf(index: number): string {
  return `c${(index + 1) % 3}`;
}

/**
 * The usage, computed by adding up all nodes each time as upstream does. Marked nodes whose replacement is gone are
 * included, because they are kept.
 */
function summed(
  state: ClusterState,
  model: ReplacementModel,
  poolId: string,
): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const { poolId: own, labels, deleting, capacity, name: key, node, claim } of state.nodes()) {
    const label = labels["karpenter.sh/nodepool"];
    const owner = own ?? (label === undefined ? undefined : `nodepool/${label}`);
    const isLeaving = [node, claim].some((one) => one?.metadata.deletionTimestamp !== undefined);
    if (owner !== poolId || (deleting && (isLeaving || !model.isKept(key)))) continue;
    for (const [name, amount] of Object.entries(capacity)) sum[name] = (sum[name] ?? 0) + amount;
  }
  return sum;
}

const change = fc.record({
  what: fc.constantFrom(...WHAT, "node", "claim", "node", "claim"),
  index: fc.nat(2),
  pool: fc.option(fc.constantFrom(...POOLS), { nil: undefined }),
  kind: fc.constantFrom(...KINDS),
  cpu: fc.integer({ min: 1, max: 64 }),
  /** Some nodes have resources that others lack, some have an instance, and some are leaving. */
  gpus: fc.option(fc.nat(2), { nil: undefined }),
  named: fc.integer({ min: 0, max: 3 }).map((one) => one > 0),
  leaving: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
  asked: fc.constantFrom("not", "usage", "nodes", "some steps", "all steps"),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function play(state: ClusterState, one: Change, version: number): void {
  const { what, index, pool, kind, cpu, gpus, named, leaving } = one;
  const labels: Record<string, string> =
    pool === undefined ? {} : { "karpenter.sh/nodepool": pool };
  // The id has the kind and the number of the claim, because an instance belongs to one claim only.
  const providerId = named ? `test://${kind}/${index}` : "";
  const resourceVersion = String(version);
  const deletion = leaving ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
  const metadata = { resourceVersion, ...deletion };
  const capacity = { cpu: String(cpu), ...(gpus === undefined ? {} : { gpu: String(gpus) }) };
  if (what === "node") {
    const initialized = { "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true" };
    const bare = node({ name: `n${index}`, labels: { ...labels, ...initialized }, providerId });
    state.updateNode({
      ...bare,
      metadata: { ...bare.metadata, ...metadata },
      status: { capacity },
    });
  } else if (what === "claim") {
    const status = { capacity, ...(named ? { providerID: providerId } : {}) };
    state.updateClaim({ ...nodeClaim({ name: `c${index}`, labels, status, metadata }), kind });
  } else if (what === "pod") {
    state.updatePod(pod({ name: `p${version}`, nodeName: `n${index}`, cpu: "1" }));
  } else if (what === "mark") state.markForDeletion(named ? `n${index}` : `c${index}`);
  else if (what === "replace") {
    state.markForDeletion(`n${index}`);
    state.replacedBy([`n${index}`], [successorOf(index)]);
  } else if (what === "unmark") state.unmarkForDeletion(named ? `n${index}` : `c${index}`);
  else if (what === "nominate") state.nominate(`n${index}`, version);
  else if (what === "gone") state.deleteNode(`n${index}`);
  else state.deleteClaim(`c${index}`, kind);
}

describe("the usage of a NodePool", () => {
  it("is the sum of its nodes, after any changes and at any time", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60, size: "max" }), (changes) => {
        const state = createClusterState();
        const model = new ReplacementModel();
        const ask = () => {
          for (const id of POOLS.map((name) => `nodepool/${name}`))
            expect(state.poolUsage(id)).toEqual(summed(state, model, id));
        };
        let catchingUp = state.catchUp();
        for (const [at, one] of changes.entries()) {
          play(state, one, at + 1);
          model.apply(one);
          if (one.asked === "nodes") state.nodes();
          if (one.asked === "some steps") {
            if (at % 2 === 0) catchingUp = state.catchUp();
            catchingUp.next();
          }
          if (one.asked === "all steps") atOnce(state.catchUp());
          if (one.asked === "usage" || one.asked === "all steps") ask();
        }
        ask();
      }),
      { seed: 12, numRuns: 150 },
    );
  });

  it("is a snapshot that later changes do not touch, and the same object without changes", () => {
    const state = createClusterState();
    const labels = { "karpenter.sh/nodepool": "a" };
    const sized = (name: string) =>
      node({ name, labels, providerId: `test://${name}`, capacity: { cpu: "4" } });
    state.updateNode(sized("n"));
    const before = state.poolUsage("nodepool/a");
    expect(state.poolUsage("nodepool/a")).toBe(before);
    state.updateNode(sized("other"));
    expect(state.poolUsage("nodepool/a")).toMatchObject({ cpu: 8_000, nodes: 2 });
    expect(before).toMatchObject({ cpu: 4_000, nodes: 1 });
  });

  it("is updated in time proportional to the changed nodes", () => {
    const usage = new PoolUsage();
    let asked = 0;
    const labels = { "karpenter.sh/nodepool": "a" };
    const viewOf = (name: string) => {
      asked++;
      return nodeView({ node: { name, labels, capacity: { cpu: "1" } } });
    };
    for (let at = 0; at < 1_000; at++) usage.touch(`n${at}`);
    expect(usage.of("nodepool/a", viewOf)).toMatchObject({ cpu: 1_000_000, nodes: 1_000 });
    asked = 0;
    usage.touch("n7");
    expect(usage.of("nodepool/a", () => void asked++)).toMatchObject({ cpu: 999_000, nodes: 999 });
    expect(usage.of("nodepool/b", viewOf)).toEqual({});
    expect(asked).toBe(1);
  });
});

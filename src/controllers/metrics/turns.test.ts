/** What is read off a large cluster stops after so many objects, so that others have their turn meanwhile. */
import { afterEach, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind } from "../../apis/meta.ts";
import type { Series } from "../../base/metrics.ts";
import { node, nodeClaim } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { stateNodeClaim } from "../state/nodeclaims.ts";
import { stateNode } from "../state/nodes.ts";
import { nodeMetrics } from "./nodes.ts";
import { LOOKED_AT_PER_STEP } from "./observer.ts";
import { poolMetrics } from "./pools.ts";
import { statusEvents } from "./status-events.ts";

const NODES = 4 * LOOKED_AT_PER_STEP;

let world: FakeWorld;
let nominatedMs = 0;
afterEach(() => world.stop());

/** All that is read of nodes and claims, by metric; nodes carry nothing that has a series of its own. */
async function readers(): Promise<ReadonlyMap<string, () => Series>> {
  world = fakeWorld();
  for (let i = 0; i < NODES; i++) {
    const providerID = `fake://${i}`;
    const bare = node({ name: `node-${i}`, labels: { "karpenter.sh/nodepool": "default" } });
    const unseen = { allocatable: {}, capacity: {}, conditions: [] };
    await world.api.create(NODE, { ...bare, spec: { ...bare.spec, providerID }, status: unseen });
    const claim = nodeClaim({ metadata: { name: `claim-${i}` } });
    await world.api.create(NODE_CLAIM, { ...claim, status: { providerID, conditions: [] } });
  }
  const all = new Map<string, () => Series>();
  const read: FakeWorld["metrics"]["read"] = (name, reader) => {
    all.set(name, reader);
    return () => all.delete(name);
  };
  const watched = { ...world, metrics: { ...world.metrics, read } };
  await world.run(
    stateNode(world),
    stateNodeClaim(world),
    nodeMetrics(watched),
    poolMetrics(watched, new Map()),
    statusEvents(watched, NODE as Kind),
    statusEvents(watched, NODE_CLAIM as Kind),
  );
  return all;
}

it("stops after some nodes and claims, whether they have a series or not", async () => {
  const ofPools = ["nodepools_usage", "nodepools_limit"];
  const all = [...(await readers())].filter(([name]) => !ofPools.includes(name));
  expect(all.length).toBeGreaterThan(15);
  for (const [name, read] of all) expect(stopsOf(read()), name).toBeGreaterThanOrEqual(4);
});

it("takes in what has changed since somebody looked in steps, too", async () => {
  const all = await readers();
  for (const [name, read] of all) {
    if (!name.startsWith("nodes_") && !name.startsWith("nodepools_usage")) continue;
    world.cluster.nodes();
    const before = stopsOf(read());
    for (let i = 0; i < NODES; i++) world.cluster.nominate(`node-${i}`, ++nominatedMs);
    expect(stopsOf(read()), name).toBeGreaterThan(before);
  }
});

function stopsOf(series: Series): number {
  return [...series].filter((sample) => sample === undefined).length;
}

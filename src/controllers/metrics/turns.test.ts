/** Reading metrics of a large cluster pauses after a number of objects, so that other work can run. */
import { afterEach, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind } from "../../apis/meta.ts";
import type { Series } from "../../base/metrics.ts";
import { node, nodeClaim, pod } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { createPodTimes, type PodTimes } from "../provisioning/pod-times.ts";
import { STATE_METRICS, stateMetrics } from "../state/metrics.ts";
import { stateNodeClaim } from "../state/nodeclaims.ts";
import { stateNode } from "../state/nodes.ts";
import { nodeGaugeMetrics, nodeMetrics } from "./nodes.ts";
import { LOOKED_AT_PER_STEP } from "./observer.ts";
import { podMetrics } from "./pods.ts";
import { poolMetrics } from "./pools.ts";
import { statusEvents } from "./status-events.ts";

const COUNT = 4 * LOOKED_AT_PER_STEP;
/** Metrics with one line for each object. Writing them always pauses between lines (operator/metrics/exposition.ts). */
const LINES = ["pods_state", "pods_provisioning_scheduling_undecided_time_seconds"];
/** Metrics that are computed when objects change and not at a scrape, or that have no objects in this test. */
const NUMBERS = ["nodepools_usage", "nodepools_limit", ...STATE_METRICS.map(({ name }) => name)];

let world: FakeWorld;
let times: PodTimes;
let nominatedMs = 0;
let made = 0;
afterEach(() => world.stop());

/**
 * Returns the reader of each metric of nodes, claims and pods. Nodes have no resources or conditions, so they give no
 * samples. Pods are bound to a node that does not exist, and are not ready.
 */
async function readers(): Promise<ReadonlyMap<string, () => Series>> {
  world = fakeWorld();
  times = createPodTimes(world);
  for (let i = 0; i < COUNT; i++) {
    const providerID = `fake://${i}`;
    const bare = node({ name: `node-${i}`, labels: { "karpenter.sh/nodepool": "default" } });
    const unseen = { allocatable: {}, capacity: {}, conditions: [] };
    await world.api.create(NODE, { ...bare, spec: { ...bare.spec, providerID }, status: unseen });
    const claim = nodeClaim({ metadata: { name: `claim-${i}` } });
    await world.api.create(NODE_CLAIM, { ...claim, status: { providerID, conditions: [] } });
    times.acknowledge(await world.api.create(POD, podNamed(`pod-${i}`)));
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
    stateMetrics(watched),
    nodeMetrics(watched),
    podMetrics(watched, times),
    poolMetrics(watched, new Map()),
    statusEvents(watched, NODE as Kind),
    statusEvents(watched, NODE_CLAIM as Kind),
  );
  return all;
}

it("metrics pause after some nodes, NodeClaims and pods, whether these have a series or not", async () => {
  const all = [...(await readers())].filter(([name]) => ![...LINES, ...NUMBERS].includes(name));
  expect(all.length).toBeGreaterThan(19);
  for (const [name, read] of all) expect(stopsOf(read()), name).toBeGreaterThanOrEqual(4);
});

it("metrics apply pending changes of the cluster state in steps, too", async () => {
  const takenIn: string[] = [];
  for (const [name, read] of await readers()) {
    world.cluster.nodes();
    const before = stopsOf(read());
    for (let i = 0; i < COUNT; i++) world.cluster.nominate(`node-${i}`, ++nominatedMs);
    const after = stopsOf(read());
    // A metric that does not read the cluster state does not process its pending changes.
    if (after === before && stopsOf(world.cluster.catchUp()) > 0) continue;
    takenIn.push(name);
    expect(after, name).toBeGreaterThan(before);
  }
  expect(takenIn).toEqual([
    "cluster_state_node_count",
    ...nodeGaugeMetrics([]).map(({ name }) => name),
    "nodepools_usage",
    "nodepools_limit",
    "nodepools_cost_total",
  ]);
});

it("metrics show each pod once, also if one is created again with its name meanwhile", async () => {
  const all = await readers();
  for (const [name, read] of all) {
    if (!name.startsWith("pods_")) continue;
    const names: (string | undefined)[] = [];
    for (const sample of read()) {
      if (sample === undefined) continue;
      names.push(sample.labels["name"]);
      if (names.length === 10) await anew(names[0] as string);
    }
    expect(new Set(names).size, name).toBe(names.length);
  }
});

/** Deletes the pod and creates it again under the same name. */
async function anew(name: string): Promise<void> {
  times.forget(await world.api.get(POD, { namespace: "default", name }));
  await world.api.delete(POD, { namespace: "default", name });
  times.acknowledge(await world.api.create(POD, podNamed(name)));
  await world.clock.settle();
}

function podNamed(name: string) {
  const one = pod({ name, nodeName: "elsewhere" });
  const metadata = { ...one.metadata, uid: `${name}-${++made}` };
  return { ...one, metadata, status: { phase: "Pending" as const } };
}

function stopsOf(series: Iterable<unknown>): number {
  return [...series].filter((one) => one === undefined).length;
}

/**
 * Cost of one scrape of the metrics of 1,000 nodes and 10,000 pods, with all gauges for nodes, pods and conditions.
 * `tsx bench/metrics.ts [scrapes]` prints size, time and memory.
 */
import { NODE } from "../src/apis/core/node.ts";
import { POD, type Pod } from "../src/apis/core/pod.ts";
import { NODE_CLAIM } from "../src/apis/karpenter/nodeclaim.ts";
import type { Kind } from "../src/apis/meta.ts";
import { controllerMetrics } from "../src/controllers/all-metrics.ts";
import { nodeMetrics } from "../src/controllers/metrics/nodes.ts";
import { podMetrics } from "../src/controllers/metrics/pods.ts";
import { poolMetrics } from "../src/controllers/metrics/pools.ts";
import { statusEvents } from "../src/controllers/metrics/status-events.ts";
import { createPodTimes } from "../src/controllers/provisioning/pod-times.ts";
import { stateNodeClaim } from "../src/controllers/state/nodeclaims.ts";
import { stateNode } from "../src/controllers/state/nodes.ts";
import { statePod } from "../src/controllers/state/pods.ts";
import { createMetrics } from "../src/operator/metrics/metrics.ts";
import { node, nodeClaim, pod } from "../src/testing/builders.ts";
import { fakeWorld } from "../src/testing/fake-world.ts";

const NODES = 1_000;
const PODS = 10_000;
const scrapes = Number(process.argv[2] ?? 10);
const CONDITIONS = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

const world = fakeWorld();
const metrics = createMetrics(controllerMetrics(world.cloud), "bench", "");
const shown = { ...world, metrics };
for (let i = 0; i < NODES; i++) {
  const providerID = `fake://${i}`;
  const conditions = CONDITIONS.map((type) => ({
    type,
    status: "True" as const,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
  const bare = node({ name: `node-${i}`, labels: { "karpenter.sh/nodepool": "default" } });
  const spec = { ...bare.spec, providerID };
  await world.api.create(NODE, { ...bare, spec, status: { ...bare.status, conditions } });
  const claim = nodeClaim({ metadata: { name: `claim-${i}` } });
  await world.api.create(NODE_CLAIM, {
    ...claim,
    status: { ...claim.status, providerID, conditions },
  });
}
for (let i = 0; i < PODS; i++) {
  const owner = { kind: "ReplicaSet", name: `web-${i % 100}`, apiVersion: "apps/v1" };
  const one: Pod = pod({ name: `pod-${i}`, nodeName: `node-${i % NODES}`, owner });
  await world.api.create(POD, one);
}
await world.run(
  stateNode(shown),
  stateNodeClaim(shown),
  statePod(shown),
  nodeMetrics(shown),
  podMetrics(shown, createPodTimes(shown)),
  poolMetrics(shown, new Map()),
  statusEvents(shown, NODE as Kind),
  statusEvents(shown, NODE_CLAIM as Kind),
);
const before = heap();
const text = await metrics.render();
const times: number[] = [];
for (let i = 0; i < scrapes; i++) {
  const cpu = process.cpuUsage();
  await metrics.render();
  const { user, system } = process.cpuUsage(cpu);
  times.push((user + system) / 1_000);
}
times.sort((a, b) => a - b);
const kept = heap() - before;
const lines = text.split("\n").length;
console.log(
  `${PODS} pods, ${NODES} nodes: ${lines} lines, ${(text.length / 1e6).toFixed(1)} MB; ` +
    `CPU of a scrape ${times[Math.floor(times.length / 2)]?.toFixed(0)} ms (median of ${scrapes}), ` +
    `kept afterwards ${(kept / 1e6).toFixed(1)} MB`,
);
process.exit(0);

function heap(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return process.memoryUsage().heapUsed;
}

/**
 * Measures one cluster size of `turns.ts`, in a process of its own. Further arguments are words: only rounds run
 * whose name contains one of them.
 */
import { NODE } from "../src/apis/core/node.ts";
import type * as ToPool from "../src/apis/hub/to-pool.ts";
import { NODE_CLAIM } from "../src/apis/karpenter/nodeclaim.ts";
import { NODE_POOL, type NodePool } from "../src/apis/karpenter/nodepool.ts";
import type { Kind, KubeObject } from "../src/apis/meta.ts";
import { TURN_MS } from "../src/base/steps.ts";
import type { World } from "../src/controllers/world.ts";
import type { Controller } from "../src/kube/manager/controller.ts";
import { built } from "./consolidation.ts";
import { CLASS, CREATED, HASH, turnsCluster } from "./turns-cluster.ts";
import { createRounds, nextTurn, type Running } from "./turns-round.ts";
import { createServer } from "./turns-server.ts";
import { turnsWorld } from "./turns-world.ts";

const { toPool } = await built<typeof ToPool>("apis/hub/to-pool.js");
type Room = Record<string, (...given: readonly unknown[]) => Controller>;
const controllers = (path: string) => built<Room>(`controllers/${path}.js`);

const count = Number(process.argv[2]);
const wanted = process.argv.slice(3);
const there = turnsCluster(count);
const { pools, claims, nodes } = there;
const server = createServer(there.objects);
const { world, metrics, lose } = turnsWorld(there, server);
const { clock, cluster } = world;
const { round, played, running } = createRounds(world, server, wanted);

// Helpers that cause reconciles.

const pool = pools[0] as KubeObject;
const poolKey = pool.metadata.name;
let told = 0;
/** Writes what the controller nodepool.counter writes every few seconds. */
const countPool = () => server.change(NODE_POOL as Kind, poolKey, { status: { nodes: ++told } });
const editPool = () => {
  const spec = { template: { metadata: { labels: { team: `t${told}` } } } };
  server.change(NODE_POOL as Kind, poolKey, { metadata: { generation: 2 + told++ }, spec });
  const { hash } = toPool(server.mirrors.of(NODE_POOL).get(poolKey) as NodePool);
  server.change(NODE_POOL as Kind, poolKey, { metadata: { annotations: { [HASH]: hash } } });
};
const countClass = () => server.change(CLASS, "default", { status: { seen: ++told } });
/** Makes changes as a watch delivers them: some in each turn. */
async function each(times: number, change: (index: number) => void): Promise<void> {
  for (let index = 0; index < times; index++) {
    change(index);
    if (index % 32 === 31) await nextTurn();
  }
}
const touchNode = (index: number, patch: unknown) =>
  server.change(NODE as Kind, nodes[index]?.metadata.name as string, patch);
const annotateNode = (index: number, touched: string) =>
  touchNode(index, { metadata: { annotations: { touched } } });
const annotateClaim = (index: number, annotations: Readonly<Record<string, string>>) =>
  server.change(NODE_CLAIM as Kind, claims[index]?.metadata.name as string, {
    metadata: { annotations },
  });
const tenth = Math.floor(count / 10);

// The heading of the table: rounds of the cluster state.

const HEAD = [
  `${count} nodes`.padEnd(58),
  "   thread ms",
  "longest turn",
  "  over 50 ms",
  "      writes",
];
console.log(HEAD.join("  "));
const FED = ["nodes", "nodeclaims", "daemonsets", "pods"];
const feeders = await Promise.all(FED.map((one) => controllers(`state/${one}`)));
// These files also export functions that feed the cluster state, such as `nodeFeed`. Those are no controllers.
const makers = feeders.flatMap((room) =>
  Object.entries(room).filter(([name]) => name.startsWith("state")),
);
const picture = makers.map(([, make]) => make(world));
let fed: Running | undefined;
const feed = async () => {
  fed = await running(...picture);
};
await (wanted.length > 0 ? feed() : round("the picture is fed", feed));
const { catchUp } = await built<{ catchUp: (given: World) => Promise<void> }>(
  "controllers/state/catch-up.js",
);
await (wanted.length > 0
  ? catchUp(world)
  : round("the picture's first look", () => catchUp(world)));

await round("poolUsage after a node has changed, 100 times", async () => {
  for (let index = 0; index < 100; index++) {
    annotateNode(index, String(index));
    cluster.poolUsage(`nodepool/${poolKey}`);
    await nextTurn();
  }
});
await round("poolUsage after a claim has changed, 100 times", async () => {
  for (let index = 0; index < 100; index++) {
    annotateClaim(index, { touched: String(index) });
    cluster.poolUsage(`nodepool/${poolKey}`);
    await nextTurn();
  }
});

// The next lines start rounds of controllers of NodePools.

const { nodePoolCounter } = await controllers("nodepool/counter");
await played("nodepool.counter", nodePoolCounter?.(world) as Controller, {
  "a node has changed": () => {
    annotateNode(0, "again");
    countPool();
  },
});
const { nodePoolReadiness } = await controllers("nodepool/readiness");
await played("nodepool.readiness", nodePoolReadiness?.(world) as Controller, {
  "the class has changed": countClass,
});
const { nodePoolHash } = await controllers("nodepool/hash");
await played("nodepool.hash, made another way before", nodePoolHash?.(world) as Controller);

// The next lines start rounds of controllers of claims and Nodes.

const { claimGarbageCollection, instanceGarbageCollection } = await controllers(
  "nodeclaim/garbage-collection",
);
await played("nodeclaim.garbagecollection", claimGarbageCollection?.(world) as Controller);
await played("instance.garbagecollection", instanceGarbageCollection?.(world) as Controller);
lose(Math.floor(count / 100));
const LOST = "nodeclaim.garbagecollection of 1 % whose instance is gone";
await played(LOST, claimGarbageCollection?.(world) as Controller);
const { expiration } = await controllers("nodeclaim/expiration");
await played("nodeclaim.expiration", expiration?.(world) as Controller, {
  "pool's status": countPool,
  "pool's template": editPool,
});
const { consistency } = await controllers("nodeclaim/consistency");
await played("nodeclaim.consistency", consistency?.(world) as Controller);
const { nodeHealth } = await controllers("node/health");
const BROKEN = {
  status: { conditions: [{ type: "Ready", status: "False", lastTransitionTime: CREATED }] },
};
await played("node.health", nodeHealth?.(world) as Controller, {
  "one in ten is broken": () => each(tenth, (index) => touchNode(index * 10, BROKEN)),
});
const { lifecycle } = await controllers("nodeclaim/lifecycle/controller");
const { createRegistrationTracker } = await controllers("registration-tracker");
await played(
  "nodeclaim.lifecycle",
  lifecycle?.(world, createRegistrationTracker?.()) as Controller,
);
const { nodeClaimDisruption } = await controllers("nodeclaim/disruption");
const BETA = { "compatibility.karpenter.sh/generation": "v1beta1" };
await played("nodeclaim.disruption", nodeClaimDisruption?.(world) as Controller, {
  "pool's status": countPool,
  "class' status": countClass,
  "pool's template: all drift": editPool,
  "one in ten claims is of v1beta1": () =>
    each(tenth, (index) => annotateClaim(index * 10 + 1, BETA)),
});

// Rounds of controllers of NodePools with static capacity, and of metrics.

const { staticProvisioning } = await controllers("static/provisioning");
const { staticDeprovisioning } = await controllers("static/deprovisioning");
const statics = [staticProvisioning?.(world), staticDeprovisioning?.(world)] as Controller[];
const replicas = Math.floor(count * 0.9);
await played("static.provisioning and deprovisioning", statics, {
  "the pool becomes static": () =>
    server.change(NODE_POOL as Kind, poolKey, { spec: { replicas } }),
});
const meters = async (): Promise<readonly Controller[]> => {
  const { nodeMetrics } = await controllers("metrics/nodes");
  const { poolMetrics } = await controllers("metrics/pools");
  const { stateMetrics } = await controllers("state/metrics");
  const { podMetrics } = await controllers("metrics/pods");
  const { createPodTimes } = await controllers("provisioning/pod-times");
  const all = [nodeMetrics?.(world), poolMetrics?.(world, new Map()), stateMetrics?.(world)];
  return [...all, podMetrics?.(world, createPodTimes?.(world))] as Controller[];
};
await played("metrics", await meters(), {
  "/metrics is asked for": async () => {
    for await (const _ of metrics.parts()) if (clock.turnMs() >= TURN_MS) await clock.sleep(0);
  },
});
await fed?.stop();
process.exit(0);

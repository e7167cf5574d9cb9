/** One size of `turns.ts`, in a process of its own. Further arguments: words of the rounds that are wanted. */
import { NODE, type Node } from "../src/apis/core/node.ts";
import { POD, type Pod } from "../src/apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { NODE_POOL, type NodePool } from "../src/apis/karpenter/nodepool.ts";
import type { Kind, KubeObject } from "../src/apis/meta.ts";
import type * as ToPool from "../src/apis/hub/to-pool.ts";
import type * as Clocks from "../src/base/system-clock.ts";
import { TURN_MS } from "../src/base/steps.ts";
import { Random } from "../src/base/random.ts";
import type * as AllMetrics from "../src/controllers/all-metrics.ts";
import type { World } from "../src/controllers/world.ts";
import type * as Planner from "../src/core/planner/planner-options.ts";
import type { ClusterState } from "../src/core/state/cluster.ts";
import type * as State from "../src/core/state/create-cluster-state.ts";
import type { Controller } from "../src/kube/manager/controller.ts";
import type * as Managers from "../src/kube/manager/manager.ts";
import type * as Metrics from "../src/operator/metrics/metrics.ts";
import { built } from "./consolidation.ts";
import { DAEMON_SET, drawCluster } from "./sweep-cluster.ts";
import { threadMs } from "./thread-ms.ts";
import { createServer } from "./turns-server.ts";

const { createClusterState } = await built<typeof State>("core/state/create-cluster-state.js");
const { createManager } = await built<typeof Managers>("kube/manager/manager.js");
const { SystemClock } = await built<typeof Clocks>("base/system-clock.js");
const { createMetrics } = await built<typeof Metrics>("operator/metrics/metrics.js");
const { controllerMetrics } = await built<typeof AllMetrics>("controllers/all-metrics.js");
const { DEFAULT_PLANNER } = await built<typeof Planner>("core/planner/planner-options.js");
const { toPool } = await built<typeof ToPool>("apis/hub/to-pool.js");
const controllers = <T>(path: string) => built<T>(`controllers/${path}.js`) as Promise<Record<string, (...given: readonly unknown[]) => Controller>>;

const HASH = "karpenter.sh/nodepool-hash";
const HASH_VERSION = "karpenter.sh/nodepool-hash-version";
const CREATED = "2026-01-01T00:00:00Z";
const CLASS: Kind = { group: "bench", version: "v1", kind: "Class", plural: "classes", namespaced: false };
const count = Number(process.argv[2]);
const wanted = process.argv.slice(3);

const { input, natives, pdbs, join } = drawCluster(count, "tight");
const pools = natives.map((one) => {
  const annotations = { [HASH_VERSION]: "v2" };
  const classed = { ...one, kind: "NodePool", metadata: { ...one.metadata, annotations, uid: one.metadata.name, generation: 1, resourceVersion: "1" } };
  const spec = { ...one.spec, template: { ...one.spec.template, spec: { ...one.spec.template.spec, nodeClassRef: { group: CLASS.group, kind: CLASS.kind, name: "default" } } } };
  return { ...classed, spec };
});
const claims: NodeClaim[] = [];
const nodes: Node[] = [];
const pods: Pod[] = [];
const recorder = {
  updateClaim: (claim: NodeClaim) => claims.push(asStored(claim)),
  updateNode: ({ metadata, ...node }: Node) => nodes.push({ ...node, metadata: { ...metadata, creationTimestamp: CREATED, resourceVersion: "1" } }),
  updatePod: (pod: Pod) => pods.push(pod),
} as unknown as ClusterState;
for (let index = 0; index < count; index++) join(recorder, index);

/** As its controllers have left it. */
function asStored({ metadata, spec, status, ...claim }: NodeClaim): NodeClaim {
  const conditions = ["Launched", "Registered", "Initialized"].map((type) => ({ type, status: "True" as const, reason: type, message: "", lastTransitionTime: CREATED }));
  const annotations = { [HASH]: "old", [HASH_VERSION]: "v2" };
  return {
    ...claim,
    metadata: { ...metadata, annotations, creationTimestamp: CREATED, resourceVersion: "1", finalizers: ["karpenter.sh/termination"] },
    spec: { ...spec, expireAfter: "876000h" },
    status: { ...status, conditions: [...conditions, ...(status?.conditions ?? [])] },
  };
}

const nodeClass = { kind: CLASS.kind, metadata: { name: "default", generation: 1, resourceVersion: "1" }, status: { conditions: [{ type: "Ready", status: "True" }] } } as unknown as KubeObject;
const { claims: volumeClaims, volumes, classes, csiNodes } = input.volumes;
const server = createServer(
  new Map<string, readonly KubeObject[]>([
    [NODE_POOL.plural, pools],
    [CLASS.plural, [nodeClass]],
    [NODE_CLAIM.plural, claims],
    [NODE.plural, nodes],
    [POD.plural, pods],
    ["daemonsets", [DAEMON_SET]],
    ["poddisruptionbudgets", pdbs],
    ["namespaces", input.namespaces],
    ["persistentvolumeclaims", volumeClaims],
    ["persistentvolumes", volumes],
    ["storageclasses", classes],
    ["csinodes", csiNodes],
  ]),
);
const ignore = () => undefined;
const log = { debug: ignore, info: ignore, warn: ignore, error: (...told: readonly unknown[]) => console.log("error", ...told), with: () => log, named: () => log };
let instances: readonly NodeClaim[] = claims.map(({ metadata: { name: _, ...metadata }, ...claim }) => ({ ...claim, metadata: { ...metadata, name: "" } }));
const cloud = {
  nodeClassKinds: [CLASS],
  wellKnownLabels: input.options.wellKnownLabels,
  repairPolicies: [{ conditionType: "Ready", conditionStatus: "False", tolerationMs: 0 }],
  getInstanceTypes: async () => input.pools[0]?.instanceTypes ?? [],
  isDrifted: async () => undefined,
  isTakenBack: () => false,
  list: async () => instances,
  get: async (id: string) => instances.find(({ status }) => status?.providerID === id),
} as unknown as World["cloud"];
const metrics = createMetrics(controllerMetrics(cloud), "bench", "");
const clock = new SystemClock();
const cluster = createClusterState();
const world = {
  clock,
  random: new Random("turns"),
  kube: server.client,
  mirrors: server.mirrors,
  cloud,
  events: { publish: ignore },
  metrics,
  log,
  cluster,
  settings: {
    preferencePolicy: "Respect",
    minValuesPolicy: "Strict",
    planner: DEFAULT_PLANNER,
    cpuRequestsMilli: 1_000,
    restraint: { minSavingsPercent: 5, maxPaybackMs: 4 * 3_600_000, replacementRestMs: 3_600_000, maxMovesPerPodHour: 4 },
    clusterBudgets: [],
    expiry: { spreadPercent: 0, respectsBudgets: false },
    surgeTimeoutMs: 0,
    pauseDisruption: false,
    forSpot: "onDemand",
    gates: { betaDrift: true, alphaDrift: true, nodeRepair: true, staticCapacity: true, nodeOverlay: false },
  },
} as unknown as World;
(await built<{ openMirrors: (given: World) => void }>("controllers/mirrors.js")).openMirrors(world);

/** What the work took, its longest turn, and those over 50 ms. */
async function turnsOf(work: () => Promise<void>): Promise<readonly number[]> {
  let [before, longestMs, long, done] = [threadMs(), 0, 0, false];
  const firstMs = before;
  const look = (): void => {
    const now = threadMs();
    if (now - before > 50) long++;
    longestMs = Math.max(longestMs, now - before);
    before = now;
    if (!done) setImmediate(look);
  };
  setImmediate(look);
  await work();
  await new Promise((resolve) => setImmediate(resolve));
  done = true;
  look();
  return [before - firstMs, longestMs, long];
}

async function round(name: string, work: () => Promise<void> | void): Promise<void> {
  if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) return;
  globalThis.gc?.();
  const before = server.writes();
  const figures = await turnsOf(async () => work());
  const cells = [...figures, server.writes() - before].map((one) => one.toFixed(0).padStart(12));
  console.log([name.padEnd(58), ...cells].join("  "));
}

interface Running {
  /** Resolves when nobody has anything to do for the moment. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** The manager itself, with metrics of its own that tell how busy it is. */
async function running(...all: readonly Controller[]): Promise<Running> {
  let busy = 0;
  const watched = all.map((one) => ({
    ...one,
    reconcile: async (request: Parameters<Controller["reconcile"]>[0]) => {
      busy++;
      try {
        return await one.reconcile(request);
      } finally {
        busy--;
      }
    },
  }));
  const depths: (() => Iterable<{ value: number }>)[] = [];
  const own = { count: ignore, observe: ignore, set: ignore, forget: ignore, read: (name: string, read: () => Iterable<{ value: number }>) => (name === "workqueue_depth" && depths.push(read), ignore) };
  const manager = createManager({ mirrors: server.mirrors, clock, random: world.random, log, metrics: own as unknown as World["metrics"] });
  for (const one of watched) manager.add(one);
  const isBusy = () => busy > 0 || depths.some((read) => [...read()].some(({ value }) => value > 0));
  const idle = async () => {
    for (let quiet = 0; quiet < 20; quiet = isBusy() ? 0 : quiet + 1) await new Promise((resolve) => setImmediate(resolve));
  };
  await manager.start();
  return { idle, stop: () => manager.stop() };
}

/** Starts it, plays what is to happen to it, and stops it. */
async function played(name: string, make: Controller | readonly Controller[], happens: Readonly<Record<string, () => Promise<void> | void>> = {}): Promise<void> {
  const names = [`${name}, start`, ...Object.keys(happens).map((what) => `${name}, ${what}`)];
  if (wanted.length > 0 && !names.some((one) => wanted.some((word) => one.includes(word)))) return;
  let it: Running | undefined;
  const all = Array.isArray(make) ? (make as readonly Controller[]) : [make as Controller];
  const start = async () => {
    it = await running(...all);
    await it.idle();
  };
  if (wanted.length > 0 && !wanted.some((word) => (names[0] as string).includes(word))) await start();
  else await round(names[0] as string, start);
  for (const [what, act] of Object.entries(happens))
    await round(`${name}, ${what}`, async () => {
      await act();
      await it?.idle();
    });
  await it?.stop();
}

const pool = pools[0] as KubeObject;
const poolKey = pool.metadata.name;
let told = 0;
/** What nodepool.counter writes every few seconds. */
const countPool = () => server.change(NODE_POOL as Kind, poolKey, { status: { nodes: ++told } });
const editPool = () => {
  server.change(NODE_POOL as Kind, poolKey, { metadata: { generation: 2 + told++ }, spec: { template: { metadata: { labels: { team: `t${told}` } } } } });
  const { hash } = toPool(server.mirrors.of(NODE_POOL).get(poolKey) as NodePool);
  server.change(NODE_POOL as Kind, poolKey, { metadata: { annotations: { [HASH]: hash } } });
};
const countClass = () => server.change(CLASS, "default", { status: { seen: ++told } });
/** Changes that come from outside, as a watch brings them: some at a time. */
async function each(times: number, change: (index: number) => void): Promise<void> {
  for (let index = 0; index < times; index++) {
    change(index);
    if (index % 32 === 31) await new Promise((resolve) => setImmediate(resolve));
  }
}
const touchNode = (index: number, patch: unknown) => server.change(NODE as Kind, nodes[index]?.metadata.name as string, patch);

console.log([`${count} nodes`.padEnd(58), "   thread ms", "longest turn", "  over 50 ms", "      writes"].join("  "));
const feeders = await Promise.all(["nodes", "nodeclaims", "daemonsets", "pods"].map((one) => controllers(`state/${one}`)));
const picture = feeders.flatMap((room) => Object.values(room).map((make) => make(world)));
let fed: Running | undefined;
const feed = async () => {
  fed = await running(...picture);
};
await (wanted.length > 0 ? feed() : round("the picture is fed", feed));
const { catchUp } = (await controllers("state/catch-up")) as unknown as { catchUp: (given: World) => Promise<void> };
await (wanted.length > 0 ? catchUp(world) : round("the picture's first look", () => catchUp(world)));

await round("poolUsage after a node has changed, 100 times", async () => {
  for (let index = 0; index < 100; index++) {
    touchNode(index, { metadata: { annotations: { touched: String(index) } } });
    cluster.poolUsage(`nodepool/${poolKey}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
});
await round("poolUsage after a claim has changed, 100 times", async () => {
  for (let index = 0; index < 100; index++) {
    server.change(NODE_CLAIM as Kind, claims[index]?.metadata.name as string, { metadata: { annotations: { touched: String(index) } } });
    cluster.poolUsage(`nodepool/${poolKey}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
});

const { nodePoolCounter } = await controllers("nodepool/counter");
await played("nodepool.counter", nodePoolCounter?.(world) as Controller, { "a node has changed": () => (touchNode(0, { metadata: { annotations: { touched: "again" } } }), countPool()) });
const { nodePoolReadiness } = await controllers("nodepool/readiness");
await played("nodepool.readiness", nodePoolReadiness?.(world) as Controller, { "the class has changed": countClass });
const { nodePoolHash } = await controllers("nodepool/hash");
await played("nodepool.hash, made another way before", nodePoolHash?.(world) as Controller);
const { claimGarbageCollection, instanceGarbageCollection } = await controllers("nodeclaim/garbage-collection");
await played("nodeclaim.garbagecollection", claimGarbageCollection?.(world) as Controller);
await played("instance.garbagecollection", instanceGarbageCollection?.(world) as Controller);
instances = instances.slice(0, -Math.floor(count / 100));
await played("nodeclaim.garbagecollection of 1 % whose instance is gone", claimGarbageCollection?.(world) as Controller);
const { expiration } = await controllers("nodeclaim/expiration");
await played("nodeclaim.expiration", expiration?.(world) as Controller, { "pool's status": countPool, "pool's template": editPool });
const { consistency } = await controllers("nodeclaim/consistency");
await played("nodeclaim.consistency", consistency?.(world) as Controller);
const { nodeHealth } = await controllers("node/health");
const tenth = Math.floor(count / 10);
await played("node.health", nodeHealth?.(world) as Controller, {
  "one in ten is broken": () => each(tenth, (index) => touchNode(index * 10, { status: { conditions: [{ type: "Ready", status: "False", lastTransitionTime: CREATED }] } })),
});
const { lifecycle } = await controllers("nodeclaim/lifecycle/controller");
const { createRegistrationTracker } = (await controllers("registration-tracker")) as unknown as { createRegistrationTracker: () => unknown };
await played("nodeclaim.lifecycle", lifecycle?.(world, createRegistrationTracker()) as Controller);
const { nodeClaimDisruption } = await controllers("nodeclaim/disruption");
await played("nodeclaim.disruption", nodeClaimDisruption?.(world) as Controller, {
  "pool's status": countPool,
  "class' status": countClass,
  "pool's template: all drift": editPool,
  "one in ten claims is of v1beta1": () =>
    each(tenth, (index) => server.change(NODE_CLAIM as Kind, claims[index * 10 + 1]?.metadata.name as string, { metadata: { annotations: { "compatibility.karpenter.sh/generation": "v1beta1" } } })),
});
const { staticProvisioning } = await controllers("static/provisioning");
const { staticDeprovisioning } = await controllers("static/deprovisioning");
await played("static.provisioning and deprovisioning", [staticProvisioning?.(world), staticDeprovisioning?.(world)] as Controller[], {
  "the pool becomes static": () => server.change(NODE_POOL as Kind, poolKey, { spec: { replicas: Math.floor(count * 0.9) } }),
});
const metersOf = async (): Promise<readonly Controller[]> => {
  const rooms = await Promise.all(["metrics/nodes", "metrics/pools", "state/metrics"].map(controllers));
  const { podMetrics } = await controllers("metrics/pods");
  const { createPodTimes } = (await controllers("provisioning/pod-times")) as unknown as { createPodTimes: (given: World) => unknown };
  const [nodeMetrics, poolMetrics, stateMetrics] = [rooms[0]?.["nodeMetrics"], rooms[1]?.["poolMetrics"], rooms[2]?.["stateMetrics"]];
  return [nodeMetrics?.(world), poolMetrics?.(world, new Map()), stateMetrics?.(world), podMetrics?.(world, createPodTimes(world))] as Controller[];
};
await played("metrics", await metersOf(), {
  "/metrics is asked for": async () => {
    for await (const _ of metrics.parts()) if (clock.turnMs() >= TURN_MS) await clock.sleep(0);
  },
});
await fed?.stop();
process.exit(0);

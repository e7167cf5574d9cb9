/**
 * The story of a calm run: NodePools of every generation, workloads, and the events of a day, all from one seed. It is
 * plain data, which can be printed and read.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { Random } from "../../src/base/random.ts";
import { type AppFacts, drawApp } from "./apps.ts";
import { CLOUD_LIES, type CloudLie, type Collection, LIES, type Lie } from "./lies.ts";
import {
  type BudgetFacts,
  drawClusterBudgets,
  drawPool,
  type PoolFacts,
  withNodeLimit,
} from "./pools.ts";
import { wallClock } from "./windows.ts";

const MINUTE = 60_000;

/** An event at one instant. */
export type Act =
  | { readonly do: "scale"; readonly app: string; readonly replicas: number }
  | { readonly do: "roll out"; readonly app: string }
  | { readonly do: "change pool"; readonly pool: string }
  | { readonly do: "pause"; readonly pool: string; readonly paused: boolean }
  /** The nodes that the NodePool has now get do-not-disrupt, until faults end. */
  | { readonly do: "keep nodes"; readonly pool: string }
  | { readonly do: "delete node"; readonly pick: number }
  | { readonly do: "delete pod"; readonly pick: number }
  /** Deletes the claim and removes its finalizer. Its instance then has no claim. */
  | { readonly do: "force claim away"; readonly pick: number }
  /**
   * Deletes the Node, and terminates its instance at the same moment. Karpenter can learn of the end only from the
   * cloud.
   */
  | { readonly do: "force node away"; readonly pick: number }
  | { readonly do: "reclaim spot"; readonly pick: number }
  | { readonly do: "lose instance"; readonly pick: number }
  | { readonly do: "stop instance"; readonly pick: number }
  | { readonly do: "no capacity"; readonly zone?: string; readonly capacityType?: "spot" }
  | { readonly do: "never join"; readonly times: number }
  | { readonly do: "refuse calls"; readonly action: string; readonly times: number }
  | { readonly do: "kill"; readonly write: number; readonly arrives: boolean }
  /**
   * The process dies at one of its writes after the next node is marked. `isLast`: the NodePool's consolidation is
   * then turned off. Otherwise the next process may repeat the command.
   */
  | {
      readonly do: "kill amid a move";
      readonly write: number;
      readonly arrives: boolean;
      readonly isLast: boolean;
    }
  | { readonly do: "cut" }
  | { readonly do: "silence"; readonly plural: string }
  /**
   * After the next node joins, Karpenter gets no pod events. Somebody deletes the node when its first pod is
   * bound.
   */
  | { readonly do: "miss a pod" }
  /** Each request of Karpenter fails with this probability, in percent. */
  | { readonly do: "errors"; readonly percent: number }
  | { readonly do: "lost answers"; readonly percent: number }
  | { readonly do: "conflicts"; readonly percent: number }
  | { readonly do: "slow"; readonly upToMs: number }
  | { readonly do: "lag"; readonly ms: number }
  /** Karpenter gets false answers about a kind or from the cloud. `restarts`: it is restarted at that moment. */
  | {
      readonly do: "mislead";
      readonly about: Collection | "cloud";
      readonly lie: Lie | CloudLie;
      readonly restarts: boolean;
    }
  | { readonly do: "tell the truth" }
  | { readonly do: "heal" };

export interface Scene {
  readonly atMs: number;
  readonly act: Act;
}

export interface Story {
  readonly seed: number;
  readonly startMs: number;
  readonly replicas: 1 | 2;
  readonly flags: Readonly<Record<string, string>>;
  readonly pools: readonly PoolFacts[];
  /** Budgets over all NodePools together. */
  readonly clusterBudgets: readonly BudgetFacts[];
  readonly apps: readonly AppFacts[];
  /** The events of the day, ordered by their time since the start. At the start everything is applied. */
  readonly scenes: readonly Scene[];
  /** When faults end. Nothing happens from outside after that. */
  readonly healMs: number;
}

const MORNING = Date.UTC(2026, 0, 5, 8, 0);
/** Start times a quarter of an hour before daylight saving time begins or ends at the place. */
const NIGHTS = [
  { startMs: Date.UTC(2026, 3, 4, 14, 45), place: "Australia/Lord_Howe" },
  { startMs: Date.UTC(2026, 9, 3, 15, 15), place: "Australia/Lord_Howe" },
  { startMs: Date.UTC(2026, 3, 4, 13, 45), place: "Pacific/Auckland" },
  { startMs: Date.UTC(2026, 2, 29, 0, 45), place: "Europe/Zurich" },
  { startMs: Date.UTC(2026, 2, 8, 6, 45), place: "America/New_York" },
  { startMs: Date.UTC(2026, 9, 25, 0, 45), place: "Europe/Zurich" },
  { startMs: Date.UTC(2026, 10, 1, 5, 45), place: "America/New_York" },
];
const STARTS = [{ startMs: MORNING, place: undefined }, ...NIGHTS];

export function drawStory(seed: number): Story {
  const random = new Random(`calm/${seed}`);
  const { startMs, place } =
    random.int(2) === 0 ? { startMs: MORNING, place: undefined } : random.pick(STARTS);
  const limits = new Random(`nodes/${seed}`);
  const pools = Array.from({ length: 1 + random.int(3) }, (_, at) => drawPool(random, at)).map(
    (pool) => withNodeLimit(limits, pool),
  );
  const homes = pools.filter(({ replicas }) => replicas === undefined);
  const apps = Array.from({ length: 1 + random.int(3) }, (_, at) => drawApp(random, at, homes));
  const clusterBudgets = [
    ...(random.int(4) === 0 ? drawClusterBudgets(random) : []),
    ...drawNight(new Random(`night/${seed}`), startMs, place),
  ];
  const healMs = (20 + random.int(30)) * MINUTE;
  const pauses = drawPause(new Random(`pause/${seed}`), pools, healMs);
  const forced = drawForced(new Random(`forced/${seed}`), healMs);
  const hasQueue = !forced.some(({ act }) => act.do === "force node away");
  const scenes = [
    ...growth(random, apps, healMs),
    ...ills(random, pools, healMs),
    ...pauses,
    ...forced,
    ...drawKill(new Random(`kill/${seed}`), healMs),
    ...drawKept(new Random(`keep/${seed}`), pools, healMs),
    ...drawMissed(new Random(`miss/${seed}`), pools, healMs),
    ...drawMisled(new Random(`mislead/${seed}`), healMs),
  ];
  return {
    seed,
    startMs,
    replicas: random.int(2) === 0 ? 1 : 2,
    flags: {
      "surge-namespaces": "*",
      "feature-gates": `SpotToSpotConsolidation=${random.int(2) === 0},NodeRepair=${random.int(2) === 0},StaticCapacity=true`,
      ...(clusterBudgets.length > 0
        ? { "disruption-budgets": JSON.stringify(clusterBudgets) }
        : {}),
      ...(hasQueue ? {} : { "interruption-queue": "" }),
      ...(random.int(4) === 0 ? { "expiration-spread": "20" } : {}),
      ...(random.int(3) === 0 ? { "expiration-respects-budgets": "true" } : {}),
    },
    pools,
    clusterBudgets,
    apps,
    // Without an interruption queue Karpenter is not informed of a stopped instance. The instance remains, unless node
    // repair is on.
    scenes: scenes
      .filter(({ act }) => hasQueue || act.do !== "stop instance")
      .toSorted((a, b) => a.atMs - b.atMs),
    healMs,
  };
}

/** Changes by users: scaling and rollouts. */
function growth(random: Random, apps: readonly AppFacts[], untilMs: number): Scene[] {
  const scenes: Scene[] = [];
  for (const { name, surges } of apps) {
    const most = surges ? 2 : 9;
    let atMs = random.int(5) * MINUTE;
    while (atMs < untilMs) {
      const rollsOut = random.int(5) === 0;
      scenes.push({
        atMs,
        act: rollsOut
          ? { do: "roll out", app: name }
          : { do: "scale", app: name, replicas: random.int(most) },
      });
      atMs += (3 + random.int(25)) * MINUTE + random.int(60_000);
    }
    scenes.push({
      atMs: untilMs - 1,
      act: { do: "scale", app: name, replicas: surges ? 1 : 1 + random.int(6) },
    });
  }
  return scenes;
}

/** A NodePool that is paused until faults end. */
function drawPause(random: Random, pools: readonly PoolFacts[], untilMs: number): Scene[] {
  if (random.int(3) > 0) return [];
  const atMs = random.int(untilMs - 10 * MINUTE);
  return [{ atMs, act: { do: "pause", pool: random.pick(pools).name, paused: true } }];
}

/**
 * A budget that allows nothing for a while, soon after the start or after daylight saving time begins or ends. A
 * controller that computes with a wrong time zone would disrupt nodes too early or too late.
 */
function drawNight(random: Random, startMs: number, place: string | undefined): BudgetFacts[] {
  if (place === undefined || random.int(3) === 0) return [];
  const [hour, minute] = wallClock(place, startMs + random.pick([5, 20, 35]) * MINUTE);
  const duration = random.pick(["30m0s", "1h0m"]);
  return [{ nodes: "0", schedule: `CRON_TZ=${place} ${minute} ${hour} * * *`, duration }];
}

/** A person protects the nodes of a NodePool, for example to investigate something. */
function drawKept(random: Random, pools: readonly PoolFacts[], untilMs: number): Scene[] {
  if (random.int(3) > 0) return [];
  const atMs = 4 * MINUTE + random.int(untilMs - 10 * MINUTE);
  return [{ atMs, act: { do: "keep nodes", pool: random.pick(pools).name } }];
}

/** A person removes a finalizer because a deletion takes too long. */
function drawForced(random: Random, untilMs: number): Scene[] {
  if (random.int(3) > 0) return [];
  const atMs = 5 * MINUTE + random.int(untilMs - 10 * MINUTE);
  const act = random.pick(["force claim away", "force node away"] as const);
  return [{ atMs, act: { do: act, pick: random.int(100) } }];
}

/** The process is killed during a command. The next process must finish the command or roll it back. */
function drawKill(random: Random, untilMs: number): Scene[] {
  if (random.int(3) > 0) return [];
  const atMs = 4 * MINUTE + random.int(untilMs - 10 * MINUTE);
  const write = 1 + random.int(6);
  const arrives = random.int(2) === 0;
  const isLast = random.int(2) === 0;
  return [{ atMs, act: { do: "kill amid a move", write, arrives, isLast } }];
}

/**
 * A node whose pod events do not reach Karpenter. A Karpenter that trusts its watch would take the node for empty.
 * This fault is not combined with limits. A PodDisruptionBudget keeps the pods of a deleted node until other pods
 * run. Those pods need a node, and the limit counts the deleted one until it is gone.
 */
function drawMissed(random: Random, pools: readonly PoolFacts[], untilMs: number): Scene[] {
  const isLimited = ({ cpuLimit, nodeLimit }: PoolFacts) => (cpuLimit ?? nodeLimit) !== undefined;
  if (random.int(3) > 0 || pools.some(isLimited)) return [];
  return [{ atMs: random.int(untilMs - 10 * MINUTE), act: { do: "miss a pod" } }];
}

/** Collections that instances and pods depend on. */
const MISLED_ABOUT = [
  "/api/v1/nodes",
  "/api/v1/pods",
  "/apis/apps/v1/daemonsets",
  "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
  "/apis/karpenter.sh/v1/nodeclaims",
  "/apis/karpenter.sh/v1/nodepools",
  "/apis/policy/v1/poddisruptionbudgets",
  "cloud",
] as const;

/** On one of three days: the API server or the cloud gives false answers for 3 to 11 minutes. */
function drawMisled(random: Random, untilMs: number): Scene[] {
  if (random.int(3) > 0) return [];
  const atMs = 4 * MINUTE + random.int(untilMs - 16 * MINUTE);
  const about = random.pick(MISLED_ABOUT);
  const lie = about === "cloud" ? random.pick(CLOUD_LIES) : random.pick(LIES);
  const truthMs = atMs + (3 + random.int(9)) * MINUTE;
  return [
    { atMs, act: { do: "mislead", about, lie, restarts: random.int(3) === 0 } },
    { atMs: truthMs, act: { do: "tell the truth" } },
  ];
}

/** Faults of the cloud, the API server and the processes. */
function ills(random: Random, pools: readonly PoolFacts[], healMs: number): Scene[] {
  const scenes: Scene[] = [];
  const count = random.int(8);
  for (let n = 0; n < count; n++) {
    const atMs = 4 * MINUTE + random.int(healMs - 5 * MINUTE);
    scenes.push({ atMs, act: drawIll(random, pools) });
    if (random.int(2) === 0)
      scenes.push({ atMs: atMs + MINUTE + random.int(10 * MINUTE), act: { do: "heal" } });
  }
  return scenes.filter(({ atMs }) => atMs < healMs);
}

const ZONES = ["us-west-2a", "us-west-2b", "us-west-2c"];
const ACTIONS = ["CreateFleet", "TerminateInstances", "DescribeInstances", "CreateLaunchTemplate"];

function drawIll(random: Random, pools: readonly PoolFacts[]): Act {
  const pool = random.pick(pools).name;
  const draws: readonly (() => Act)[] = [
    () => ({ do: "change pool", pool }),
    () => ({ do: "change pool", pool }),
    () => ({ do: "pause", pool, paused: random.int(2) === 0 }),
    () => ({ do: "delete node", pick: random.int(100) }),
    () => ({ do: "delete pod", pick: random.int(100) }),
    () => ({ do: "reclaim spot", pick: random.int(100) }),
    () => ({ do: "reclaim spot", pick: random.int(100) }),
    () => ({ do: "lose instance", pick: random.int(100) }),
    () => ({ do: "stop instance", pick: random.int(100) }),
    () => ({ do: "no capacity", zone: random.pick(ZONES) }),
    () => ({ do: "no capacity", capacityType: "spot" }),
    () => ({ do: "never join", times: 1 + random.int(3) }),
    () => ({ do: "refuse calls", action: random.pick(ACTIONS), times: 1 + random.int(30) }),
    () => ({ do: "kill", write: 1 + random.int(40), arrives: random.int(2) === 0 }),
    () => ({ do: "kill", write: 1 + random.int(15), arrives: random.int(2) === 0 }),
    () => ({ do: "cut" }),
    () => ({ do: "silence", plural: random.pick(["pods", "nodes", "nodeclaims", "nodepools"]) }),
    () => ({ do: "errors", percent: 5 + random.int(30) }),
    () => ({ do: "lost answers", percent: 2 + random.int(10) }),
    () => ({ do: "conflicts", percent: 5 + random.int(30) }),
    () => ({ do: "slow", upToMs: 200 + random.int(3_000) }),
    () => ({ do: "lag", ms: 200 + random.int(5_000) }),
  ];
  return random.pick(draws)();
}

/** All objects that are applied at the start, in order. */
export function manifestsOf({ pools, apps }: Story): readonly KubeObject[] {
  return [...pools.flatMap(({ manifests }) => manifests), ...apps.flatMap((app) => app.manifests)];
}

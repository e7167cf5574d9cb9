/**
 * Random clusters, as files. NodePools have policies, budgets and pauses. Nodes are full, sparse or empty; young,
 * drifted or annotated. Pods have PodDisruptionBudgets, topology rules and do-not-disrupt; some are pending. v1 and
 * v1beta1 exist side by side. Equal seeds give equal clusters.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { toRfc3339 } from "../../src/base/clock.ts";
import { Random } from "../../src/base/random.ts";
import type { ForSpot } from "../../src/core/disruption/cheaper.ts";
import {
  snapshotNode,
  snapshotPdb,
  snapshotPod,
  snapshotPool,
} from "../../src/testing/snapshots.ts";

const MINUTE_MS = 60_000;
/** An age that exceeds the `expireAfter: 720h` of these NodePools. */
const EXPIRED_MINUTES = 31 * 24 * 60;

/** Controller settings that some seeds have. */
export interface DrawnSettings {
  readonly forSpot: ForSpot;
  readonly respectsBudgets: boolean;
  /** Nodes of the whole cluster that may be disrupted at the same time. Absent: any number. */
  readonly mostAtOnce?: string;
  /** NodePool id → minutes for which it still backs off, because its last replacement failed. */
  readonly backingOff: ReadonlyMap<string, number>;
}

export function drawSettings(seed: number): DrawnSettings {
  const random = new Random(`settings/${seed}`);
  const oneIn = (count: number): boolean => random.uint32() % count === 0;
  return {
    forSpot: oneIn(2) ? "spot" : oneIn(2) ? "onDemand" : "nothing",
    respectsBudgets: oneIn(3),
    ...(oneIn(5) ? { mostAtOnce: "1" } : {}),
    backingOff: new Map(oneIn(5) ? [["nodepool/pool-0", 1 + (random.uint32() % 9)]] : []),
  };
}

const APPS = ["web", "api", "batch", "cache"];
const BETA = { "compatibility.karpenter.sh/generation": "v1beta1" };
const CPUS = [2, 4, 8, 16] as const;

/** Makes the random choices of one seed. */
interface Lot {
  below(count: number): number;
  pick<T>(items: readonly T[]): T;
  oneIn(count: number): boolean;
  ago(minutes: number): string;
}

/** The fields of a NodePool that its nodes depend on. */
interface DrawnPool {
  readonly name: string;
  readonly isBeta: boolean;
  readonly consolidateAfter: string;
}

export function drawCluster(seed: number, nowMs: number): readonly KubeObject[] {
  const lot = lotOf(seed, nowMs);
  const { below, oneIn } = lot;
  const { respectsBudgets } = drawSettings(seed);
  const objects: KubeObject[] = [];
  const names = Array.from({ length: 1 + below(3) }, (_, index) => `pool-${index}`);
  const beta = new Set(names.filter(() => oneIn(4)));
  const pools = names.map((name): DrawnPool => {
    const consolidateAfter = lot.pick(["0s", "0s", "10m", "Never"]);
    const pool = { name, isBeta: beta.has(name), consolidateAfter };
    objects.push(drawPool(lot, pool));
    return pool;
  });
  let podCount = 0;
  const pods = (count: number, node?: string): void => {
    for (let index = 0; index < count; index++)
      objects.push(drawPod(lot, `pod-${podCount++}`, node));
  };
  const count = 1 + below(9);
  for (let index = 0; index < count; index++) {
    const name = `node-${index}`;
    const drawn = drawNode(lot, name, pools, respectsBudgets);
    objects.push(...drawn.objects);
    pods(drawn.podCount, name);
  }
  if (oneIn(3)) pods(1 + below(3));
  for (const app of APPS) if (oneIn(4)) objects.push(snapshotPdb(app, below(3)));
  return objects;
}

function lotOf(seed: number, nowMs: number): Lot {
  const random = new Random(`answers/${seed}`);
  const below = (count: number): number => random.uint32() % count;
  return {
    below,
    pick: <T>(items: readonly T[]): T => items[below(items.length)] as T,
    oneIn: (count) => below(count) === 0,
    ago: (minutes) => toRfc3339(nowMs - minutes * MINUTE_MS),
  };
}

/** A pod. `node`: the node it runs on. Absent: the pod is pending. */
function drawPod({ pick, oneIn, ago, below }: Lot, name: string, node?: string): KubeObject {
  const app = pick(APPS);
  return snapshotPod(name, {
    app,
    cpu: pick(["200m", "500m", "900m", "1500m"]),
    createdAt: ago(below(600)),
    ...(node === undefined ? {} : { node }),
    ...(oneIn(25) ? { annotations: { "karpenter.sh/do-not-disrupt": pick(["true", "4h"]) } } : {}),
    ...(oneIn(8)
      ? { spec: { nodeSelector: { "topology.kubernetes.io/zone": pick(["a", "b"]) } } }
      : {}),
  });
}

/** A node with its claim, and how many pods it gets. */
function drawNode(
  lot: Lot,
  name: string,
  pools: readonly DrawnPool[],
  respectsBudgets: boolean,
): { readonly objects: readonly KubeObject[]; readonly podCount: number } {
  const { pick, oneIn, ago, below } = lot;
  const since = ago(60 + below(3_000));
  const conditions: Record<string, string> = {};
  const pool = pick(pools);
  // The condition Consolidatable is set as the claim's controller does: only after the wait.
  const isRestless = pool.consolidateAfter === "10m" && oneIn(3);
  if (!isRestless && pool.consolidateAfter !== "Never") conditions["Consolidatable"] = since;
  if (oneIn(6)) conditions["Drifted"] = ago(below(60));
  const podCount = oneIn(4) ? 0 : below(4);
  if (pool.isBeta && podCount === 0) conditions["Empty"] = since;
  // A v1 claim has this condition only if expiration respects budgets.
  if ((pool.isBeta || respectsBudgets) && oneIn(6)) conditions["Expired"] = ago(below(60));
  const isExpired = "Expired" in conditions;
  const objects = snapshotNode(name, {
    pool: pool.name,
    cpu: pick(CPUS),
    zone: pick(["a", "b"]),
    capacityType: pick(["on-demand", "spot"]),
    // Old enough to be expired: a v1beta1 claim by its NodePool's expireAfter, a v1 claim by its own.
    createdAt: isExpired && pool.isBeta ? ago(EXPIRED_MINUTES) : since,
    conditions,
    ...(isExpired ? { expireAfter: "1h" } : {}),
    ...(isRestless ? { lastPodEventAt: ago(below(9)) } : {}),
    ...(oneIn(12) ? { annotations: { "karpenter.sh/do-not-disrupt": "true" } } : {}),
    claimAnnotations: {
      ...(oneIn(8) ? { "karpenter.sh/replacement-for-command": "old" } : {}),
      ...(oneIn(8)
        ? { "karpenter.sh/disruption-moves": JSON.stringify([drawMove(lot, ago(below(90)))]) }
        : {}),
      ...(pool.isBeta ? BETA : {}),
    },
  });
  return { objects, podCount };
}

function drawPool({ pick, oneIn }: Lot, { name, isBeta, consolidateAfter }: DrawnPool): KubeObject {
  const nodes = pick(["0", "1", "50%"]);
  const schedule = `0 ${pick([0, 4, 8, 10, 12, 16, 20])} * * *`;
  return snapshotPool({
    name,
    capacityTypes: pick([["on-demand"], ["spot"], ["on-demand", "spot"]]),
    annotations: {
      ...(oneIn(8) ? { "karpenter.sh/disruption-paused": "true" } : {}),
      ...(isBeta ? BETA : {}),
    },
    ...(oneIn(6) ? { limits: { cpu: "40" } } : {}),
    disruption: {
      consolidationPolicy: pick([
        "WhenEmptyOrUnderutilized",
        "WhenEmptyOrUnderutilized",
        "WhenEmpty",
        "Balanced",
      ]),
      consolidateAfter,
      budgets: [
        { nodes: pick(["100%", "2", "10%"]) },
        ...(oneIn(3) ? [{ nodes, schedule, duration: "9h" }] : []),
        ...(oneIn(5)
          ? [{ nodes: "0", reasons: [pick(["Empty", "Drifted", "Underutilized"])] }]
          : []),
      ],
    },
  });
}

/** Annotations of an earlier move. They hold off further moves of the same workload. */
function drawMove({ pick }: Lot, at: string) {
  return {
    command: `old-${at}`,
    reason: "Underutilized",
    at,
    nodes: ["old"],
    priceMicroUsd: 400_000,
    savesMicroUsd: 100_000,
    replacements: 1,
    pods: { [`uid-${pick(APPS)}`]: pick([1, 3, 9, 27]) },
  };
}

/**
 * Clusters drawn by lot, as files: pools with policies, budgets and pauses, nodes that are full, sparse or
 * empty, young, drifted or annotated, pods with guards, rules and durations, pods that wait; v1 and v1beta1
 * side by side. One seed, one cluster.
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

/** Settings of the controller that some seeds have. */
export interface DrawnSettings {
  readonly forSpot: ForSpot;
  readonly respectsBudgets: boolean;
  /** Nodes of the whole cluster at once; absent: any number. */
  readonly mostAtOnce?: string;
  /** Pools whose last replacement did not come up, by id, and for how many minutes more they are not asked. */
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

/** What is drawn by one seed. */
interface Lot {
  pick<T>(items: readonly T[]): T;
  oneIn(count: number): boolean;
}

export function drawCluster(seed: number, nowMs: number): readonly KubeObject[] {
  const random = new Random(`answers/${seed}`);
  const { respectsBudgets } = drawSettings(seed);
  const pick = <T>(items: readonly T[]): T => items[random.uint32() % items.length] as T;
  const oneIn = (count: number): boolean => random.uint32() % count === 0;
  const ago = (minutes: number): string => toRfc3339(nowMs - minutes * MINUTE_MS);
  const objects: KubeObject[] = [];
  const pools = Array.from({ length: 1 + (random.uint32() % 3) }, (_, index) => `pool-${index}`);
  const beta = new Set(pools.filter(() => oneIn(4)));
  const waits = new Map<string, string>();
  for (const name of pools) {
    const consolidateAfter = pick(["0s", "0s", "10m", "Never"]);
    waits.set(name, consolidateAfter);
    objects.push(drawPool({ pick, oneIn }, name, beta.has(name), consolidateAfter));
  }
  let podCount = 0;
  const pods = (node: string | undefined, count: number): void => {
    for (let index = 0; index < count; index++) {
      const app = pick(APPS);
      objects.push(
        snapshotPod(`pod-${podCount++}`, {
          app,
          cpu: pick(["200m", "500m", "900m", "1500m"]),
          createdAt: ago(random.uint32() % 600),
          ...(node === undefined ? {} : { node }),
          ...(oneIn(25)
            ? { annotations: { "karpenter.sh/do-not-disrupt": pick(["true", "4h"]) } }
            : {}),
          ...(oneIn(8)
            ? { spec: { nodeSelector: { "topology.kubernetes.io/zone": pick(["a", "b"]) } } }
            : {}),
        }),
      );
    }
  };
  const count = 1 + (random.uint32() % 9);
  for (let index = 0; index < count; index++) {
    const name = `node-${index}`;
    const since = ago(60 + (random.uint32() % 3_000));
    const conditions: Record<string, string> = {};
    const pool = pick(pools);
    // As the controller of claims marks them: nothing waits that has waited long enough.
    const isRestless = waits.get(pool) === "10m" && oneIn(3);
    if (!isRestless && waits.get(pool) !== "Never") conditions["Consolidatable"] = since;
    if (oneIn(6)) conditions["Drifted"] = ago(random.uint32() % 60);
    const podsHere = oneIn(4) ? 0 : random.uint32() % 4;
    if (beta.has(pool) && podsHere === 0) conditions["Empty"] = since;
    // A v1 claim bears it only where its expiry is to respect budgets.
    if ((beta.has(pool) || respectsBudgets) && oneIn(6))
      conditions["Expired"] = ago(random.uint32() % 60);
    objects.push(
      ...snapshotNode(name, {
        pool,
        cpu: pick(CPUS),
        zone: pick(["a", "b"]),
        capacityType: pick(["on-demand", "spot"]),
        createdAt: since,
        conditions,
        ...(isRestless ? { lastPodEventAt: ago(random.uint32() % 9) } : {}),
        ...(oneIn(12) ? { annotations: { "karpenter.sh/do-not-disrupt": "true" } } : {}),
        claimAnnotations: {
          ...(oneIn(8) ? { "karpenter.sh/replacement-for-command": "old" } : {}),
          ...(oneIn(8)
            ? {
                "karpenter.sh/disruption-moves": JSON.stringify([
                  drawMove({ pick, oneIn }, ago(random.uint32() % 90)),
                ]),
              }
            : {}),
          ...(beta.has(pool) ? BETA : {}),
        },
      }),
    );
    pods(name, podsHere);
  }
  if (oneIn(3)) pods(undefined, 1 + (random.uint32() % 3));
  for (const app of APPS) if (oneIn(4)) objects.push(snapshotPdb(app, random.uint32() % 3));
  return objects;
}

function drawPool(
  { pick, oneIn }: Lot,
  name: string,
  isBeta: boolean,
  consolidateAfter: string,
): KubeObject {
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

/** What was done of late, and holds back what would move the same workload again. */
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

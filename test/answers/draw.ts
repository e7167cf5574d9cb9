/**
 * Clusters drawn by lot, as files: pools with policies, budgets and pauses, nodes that are full, sparse or
 * empty, young, drifted or annotated, pods with guards, rules and durations, pods that wait; v1 and v1beta1
 * side by side. One seed, one cluster.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { toRfc3339 } from "../../src/base/clock.ts";
import { Random } from "../../src/base/random.ts";
import {
  snapshotNode,
  snapshotPdb,
  snapshotPod,
  snapshotPool,
} from "../../src/testing/snapshots.ts";

const MINUTE_MS = 60_000;

/** Settings of the controller that some seeds have. */
export interface DrawnSettings {
  readonly spotToSpot: boolean;
  readonly respectsBudgets: boolean;
  /** Nodes of the whole cluster at once; absent: any number. */
  readonly mostAtOnce?: string;
}

export function drawSettings(seed: number): DrawnSettings {
  const random = new Random(`settings/${seed}`);
  const oneIn = (count: number): boolean => random.uint32() % count === 0;
  return {
    spotToSpot: oneIn(2),
    respectsBudgets: oneIn(3),
    ...(oneIn(5) ? { mostAtOnce: "1" } : {}),
  };
}
const APPS = ["web", "api", "batch", "cache"];
const BETA = { "compatibility.karpenter.sh/generation": "v1beta1" };
const CPUS = [2, 4, 8, 16] as const;

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
    const hour = random.uint32() % 24;
    const nodes = pick(["0", "1", "50%"]);
    const consolidateAfter = pick(["0s", "0s", "10m", "Never"]);
    waits.set(name, consolidateAfter);
    objects.push(
      snapshotPool({
        name,
        capacityTypes: pick([["on-demand"], ["spot"], ["on-demand", "spot"]]),
        annotations: {
          ...(oneIn(8) ? { "karpenter.sh/disruption-paused": "true" } : {}),
          ...(beta.has(name) ? BETA : {}),
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
            ...(oneIn(3) ? [{ nodes, schedule: `0 ${hour} * * *`, duration: "9h" }] : []),
            ...(oneIn(5)
              ? [{ nodes: "0", reasons: [pick(["Empty", "Drifted", "Underutilized"])] }]
              : []),
          ],
        },
      }),
    );
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
  /** What was done of late, and holds back what would move the same workload again. */
  const moved = () => ({
    command: `old-${random.uint32()}`,
    reason: "Underutilized",
    at: ago(random.uint32() % 90),
    nodes: ["old"],
    priceMicroUsd: 400_000,
    savesMicroUsd: 100_000,
    replacements: 1,
    pods: { [`uid-${pick(APPS)}`]: 1 + (random.uint32() % 40) },
  });
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
          ...(oneIn(8) ? { "karpenter.sh/disruption-moves": JSON.stringify([moved()]) } : {}),
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

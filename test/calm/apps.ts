/** Workloads of calm runs: Deployments with PodDisruptionBudgets, do-not-disrupt and topology rules. */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { Random } from "../../src/base/random.ts";
import type { PoolFacts } from "./pools.ts";

export interface AppFacts {
  readonly name: string;
  /** The NodePool of its pods. */
  readonly pool: string;
  readonly manifests: readonly KubeObject[];
  /**
   * Whether its pods have do-not-disrupt, some of them for a limited time. The annotation is removed when faults end;
   * otherwise the cluster could not settle.
   */
  readonly held: boolean;
  /** The Deployment asks to be moved without downtime (`surge`). It has at most one replica. */
  readonly surges: boolean;
}

export function drawApp(random: Random, at: number, pools: readonly PoolFacts[]): AppFacts {
  const name = `app-${at}`;
  const pool = random.pick(pools);
  const labels = { app: name };
  const hold = random.int(6) === 0 ? random.pick(["true", "10m"]) : undefined;
  const isHeld = hold !== undefined;
  const keeps = random.int(6);
  const surges = keeps === 0;
  const stores = keeps === 1;
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: {
          labels,
          annotations: {
            ...(isHeld ? { "karpenter.sh/do-not-disrupt": hold } : {}),
            ...(surges ? { "karpenter.sh/zero-downtime": "true" } : {}),
          },
        },
        spec: {
          nodeSelector: { team: pool.name },
          terminationGracePeriodSeconds: random.pick([1, 10, 30]),
          containers: [
            {
              name: "c",
              image: "pause",
              resources: {
                requests: {
                  cpu: random.pick(["200m", "500m", "900m", "1500m", "3"]),
                  memory: random.pick(["128Mi", "1Gi", "4Gi"]),
                },
              },
            },
          ],
          ...placement(random, labels, stores),
          ...(stores
            ? { volumes: [{ name: "data", persistentVolumeClaim: { claimName: name } }] }
            : {}),
        },
      },
    },
  };
  return {
    name,
    pool: pool.name,
    held: isHeld,
    surges,
    manifests: [
      ...(stores ? [volumeClaim(name)] : []),
      deployment,
      ...guard(random, name, labels),
    ] as unknown as KubeObject[],
  };
}

/** One volume for all pods of the workload, so they stay in its zone. */
function volumeClaim(name: string): object {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "4Gi" } } },
  };
}

/** Topology rules. Pods whose volume ties them to one zone get no zone spread. */
function placement(random: Random, matchLabels: object, inOneZone: boolean): object {
  const labelSelector = { matchLabels };
  const spread = (topologyKey: string, whenUnsatisfiable: string) => ({
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable, labelSelector }],
  });
  const apart = { topologyKey: "kubernetes.io/hostname", labelSelector };
  return random.pick([
    {},
    {},
    {},
    inOneZone ? {} : spread("topology.kubernetes.io/zone", "DoNotSchedule"),
    spread("kubernetes.io/hostname", "ScheduleAnyway"),
    { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } } },
  ]);
}

function guard(random: Random, name: string, matchLabels: object): readonly object[] {
  const limit = random.pick([
    undefined,
    undefined,
    { minAvailable: 1 },
    { minAvailable: "50%" },
    { maxUnavailable: 1 },
    { maxUnavailable: "25%" },
  ]);
  if (limit === undefined) return [];
  return [
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name, namespace: "default" },
      spec: { ...limit, selector: { matchLabels } },
    },
  ];
}

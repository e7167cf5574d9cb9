/** Workloads of calm runs: Deployments with what guards their pods and what keeps them apart. */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { Random } from "../../src/base/random.ts";
import type { PoolFacts } from "./pools.ts";

export interface AppFacts {
  readonly name: string;
  /** Where its pods run. */
  readonly pool: string;
  readonly manifests: readonly KubeObject[];
  /** Its pods may not be moved (for some time); taken off when faults end, or nothing could settle. */
  readonly held: boolean;
  /** Asks to be moved without downtime; it has one replica, or none. */
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

/** All pods of the workload have one volume: they stay in its zone. */
function volumeClaim(name: string): object {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "4Gi" } } },
  };
}

/** Pods whose volume keeps them in one zone cannot be spread over several as well. */
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

/**
 * The workloads of this bench: one plain Deployment of many pods, and four workloads of upstream's end-to-end
 * performance suite. Each is scaled up from 0 and then down. upstream: test/suites/performance
 */
import type { KubeObject } from "../../src/apis/meta.ts";

export interface Shape {
  readonly name: string;
  readonly pool: KubeObject;
  readonly deployments: readonly Deployment[];
  /** Whether scaling down is over when all nodes are gone. Otherwise it is over when nothing changes any more. */
  readonly toNothing: boolean;
}

export interface Deployment {
  readonly object: KubeObject;
  readonly name: string;
  readonly up: number;
  readonly down: number;
}

interface Requests {
  readonly cpu: string;
  readonly memory: string;
}

interface PodExtras {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

const HOST = "kubernetes.io/hostname";
const ZONE = "topology.kubernetes.io/zone";
const SMALL: Requests = { cpu: "900m", memory: "3100Mi" };
const LARGE: Requests = { cpu: "3500m", memory: "28Gi" };

/** `500` or `10000`: a Deployment of that many pods. Otherwise a name of upstream's suite. */
export function shapeOf(name: string): Shape {
  const suite = SUITE[name];
  if (suite !== undefined)
    return { name, pool: suitePool(), deployments: suite(), toNothing: false };
  const pods = Number(name);
  if (!Number.isInteger(pods) || pods < 1)
    throw new Error(`no shape ${name}; there are ${SUITE_NAMES.join(", ")}, or a number of pods`);
  const plain = deployment("plain", pods, 0, { cpu: "500m", memory: "700Mi" });
  return { name: `${pods} pods`, pool: plainPool(), deployments: [plain], toNothing: true };
}

const SUITE: Readonly<Record<string, () => readonly Deployment[]>> = {
  basic: () => [deployment("small", 500, 350, SMALL), deployment("large", 500, 350, LARGE)],
  hostname: () => [
    deployment("small", 500, 350, SMALL, { spec: spread("small", HOST) }),
    deployment("large", 500, 350, LARGE),
  ],
  wide,
  "do-not-disrupt": () => [
    deployment("small", 500, 250, SMALL, { spec: spread("small", HOST) }),
    deployment("large", 500, 250, LARGE),
    deployment("guarded", 100, 100, { cpu: "900m", memory: "450Mi" }, {
      annotations: { "karpenter.sh/do-not-disrupt": "true" },
    }),
  ],
};
export const SUITE_NAMES: readonly string[] = Object.keys(SUITE);

const WIDE_CPU = [
  240, 450, 650, 900, 1400, 1900, 2400, 2800, 3300, 3700, 2300, 900, 1300, 2800, 1800, 1850, 3300,
  3800, 225, 450, 700, 900, 1300, 1800, 2400, 2800, 3400, 3800, 3300, 2800,
];
const WIDE_MEMORY = (
  "300Mi 400Mi 700Mi 1Gi 2Gi 4Gi 8Gi 4Gi 16Gi 10Gi 64Gi 30Gi 32Gi 32Gi 30Gi 20Gi 30Gi 300Mi 500Mi " +
  "750Mi 1Gi 2Gi 4Gi 8Gi 16Gi 32Gi 28Gi 64Gi 13Gi 24Gi"
).split(" ");

/** Thirty Deployments, all spread over zones. Three have host anti-affinity, three a host spread. */
function wide(): readonly Deployment[] {
  return WIDE_CPU.map((cpu, index) => {
    const name = `wide-${index + 1}`;
    const keys = index >= 3 && index < 6 ? [ZONE, HOST] : [ZONE];
    const spec = { ...spread(name, ...keys), ...(index < 3 ? apart(name) : {}) };
    const requests = { cpu: `${cpu}m`, memory: WIDE_MEMORY[index] ?? "1Gi" };
    return index < 20
      ? deployment(name, 35, 25, requests, { spec })
      : deployment(name, 30, 20, requests, { spec });
  });
}

export function spread(app: string, ...topologyKeys: readonly string[]): object {
  return {
    topologySpreadConstraints: topologyKeys.map((topologyKey) => ({
      topologyKey,
      maxSkew: 1,
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { matchLabels: { app } },
    })),
  };
}

export function apart(app: string): object {
  const term = { topologyKey: HOST, labelSelector: { matchLabels: { app } } };
  return {
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  };
}

export function deployment(
  name: string,
  up: number,
  down: number,
  requests: Requests,
  { annotations, spec }: PodExtras = {},
): Deployment {
  const labels = { app: name };
  const object = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, ...(annotations === undefined ? {} : { annotations }) },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: "pause", image: "pause", resources: { requests } }],
          ...spec,
        },
      },
    },
  } as KubeObject;
  return { object, name, up, down };
}

/** The NodePool of upstream's figures for one Deployment: Linux on amd64, any size. */
function plainPool(): KubeObject {
  return pool("1m", []);
}

/** The NodePool of upstream's suite: instance types with fewer than 32 cores. */
function suitePool(): KubeObject {
  return pool("30s", [
    { key: "karpenter.kwok.sh/instance-size", operator: "Lt", values: ["32"] },
  ]);
}

export function pool(consolidateAfter: string, more: readonly object[], name = "default"): KubeObject {
  const requirements = [
    { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
    { key: "kubernetes.io/os", operator: "In", values: ["linux"] },
    ...more,
  ];
  const nodeClassRef = { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" };
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: { spec: { nodeClassRef, requirements, expireAfter: "Never" } },
      disruption: {
        consolidationPolicy: "WhenEmptyOrUnderutilized",
        consolidateAfter,
        budgets: [{ nodes: "100%" }],
      },
    },
  } as KubeObject;
}

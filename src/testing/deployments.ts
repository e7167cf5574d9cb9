/** Random workloads for property tests: small Deployments with one topology rule each. */
import fc from "fast-check";
import type { Pod, PodSpec } from "../apis/core/pod.ts";
import { deepFreeze } from "../base/json.ts";
import { pod } from "./builders.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const ARCH = "kubernetes.io/arch";
const CAPACITY_TYPE = "karpenter.sh/capacity-type";

type Labels = Readonly<Record<string, string>>;
type Topology = "none" | "zoneSpread" | "hostSpread" | "hostApart" | "zoneApart" | "zoneTogether";

/** A random Deployment for property tests. */
export interface Deployment {
  readonly app: string;
  readonly replicas: number;
  readonly cpuMilli: number;
  readonly memoryMi: number;
  readonly topology: Topology;
  readonly selector: Labels;
  readonly hostPort: number;
  readonly tolerant: boolean;
}

/** Generates Deployments with this label `app`. */
export const deployment = (app: string): fc.Arbitrary<Deployment> =>
  fc.record({
    app: fc.constant(app),
    replicas: fc.integer({ min: 1, max: 6 }),
    cpuMilli: fc.constantFrom(100, 500, 1_500, 3_000, 9_000),
    memoryMi: fc.constantFrom(64, 512, 4_096, 20_000),
    topology: fc.constantFrom<Topology>(
      "none",
      "none",
      "zoneSpread",
      "hostSpread",
      "hostApart",
      "zoneApart",
      "zoneTogether",
    ),
    selector: fc.constantFrom<Labels>(
      {},
      {},
      { [ZONE]: "zone-b" },
      { [ARCH]: "arm64" },
      { [CAPACITY_TYPE]: "spot" },
      { team: "red" },
    ),
    hostPort: fc.constantFrom(0, 0, 0, 80),
    tolerant: fc.boolean(),
  });

/** The pending pods of a Deployment. They share one frozen spec, as in a mirror. */
export function podsOf(of: Deployment): Pod[] {
  const labelSelector = { matchLabels: { app: of.app } };
  const near = (topologyKey: string) => ({
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }],
  });
  const spread = (topologyKey: string) => [
    { maxSkew: 1, topologyKey, whenUnsatisfiable: "DoNotSchedule" as const, labelSelector },
  ];
  const wishes = {
    none: {},
    zoneSpread: { topologySpreadConstraints: spread(ZONE) },
    hostSpread: { topologySpreadConstraints: spread(HOSTNAME) },
    hostApart: { affinity: { podAntiAffinity: near(HOSTNAME) } },
    zoneApart: { affinity: { podAntiAffinity: near(ZONE) } },
    zoneTogether: { affinity: { podAffinity: near(ZONE) } },
  }[of.topology];
  const ports = of.hostPort > 0 ? [{ containerPort: 80, hostPort: of.hostPort }] : [];
  let spec: PodSpec | undefined;
  return Array.from({ length: of.replicas }, (_, index) => {
    const made = pod({
      name: `${of.app}-${index}`,
      labels: { app: of.app },
      cpu: `${of.cpuMilli}m`,
      memory: `${of.memoryMi}Mi`,
      spec: {
        nodeSelector: of.selector,
        ...(of.tolerant ? { tolerations: [{ operator: "Exists" as const }] } : {}),
        ...wishes,
      },
    });
    const [container] = made.spec.containers;
    const containers = [{ ...container, name: "main", ports }];
    spec ??= deepFreeze({ ...made.spec, containers });
    return { ...made, spec };
  });
}

/** The AWS side of a random cluster: a node class, NodePools of common types, and capacity reservations. */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { Random } from "../../src/base/random.ts";
import { type PoolObject, ZONE } from "./draw-story.ts";

export const AWS_ZONES = ["us-west-2a", "us-west-2b"];

const OWNED = [{ tags: { "karpenter.sh/discovery": "karpenter-demo" } }];

export const AWS_CLASS = {
  apiVersion: "karpenter.k8s.aws/v1",
  kind: "EC2NodeClass",
  metadata: { name: "default" },
  spec: {
    role: "KarpenterNodeRole-karpenter-demo",
    amiSelectorTerms: [{ alias: "al2023@latest" }],
    subnetSelectorTerms: OWNED,
    securityGroupSelectorTerms: OWNED,
    capacityReservationSelectorTerms: [{ tags: { team: "a" } }],
  },
} as unknown as KubeObject;

/** A capacity reservation, as the EC2 API creates it. */
export interface SoldReservation {
  readonly InstanceType: string;
  readonly AvailabilityZone: string;
  readonly TotalInstanceCount: number;
  readonly tags: readonly { readonly Key: string; readonly Value: string }[];
}

const TYPES = ["m5.large", "m5.xlarge", "c5.xlarge", "c5.2xlarge", "r5.large"];

/** Capacity reservations: none in one of three clusters, else one to three for a few instances each. */
export function reservationsOf(random: Random): readonly SoldReservation[] {
  const count = random.int(3) === 0 ? 0 : 1 + random.int(3);
  return Array.from({ length: count }, () => ({
    InstanceType: random.pick(TYPES),
    AvailabilityZone: random.pick(AWS_ZONES),
    TotalInstanceCount: 1 + random.int(3),
    tags: [{ Key: "team", Value: "a" }],
  }));
}

/** The same NodePool with instance types that AWS sells. */
export function toAwsPool(random: Random, pool: PoolObject): PoolObject {
  const { template } = pool.spec;
  const isIn = (key: string, values: readonly string[]) => ({ key, operator: "In", values });
  const requirements = [
    isIn("kubernetes.io/arch", ["amd64"]),
    isIn(ZONE, AWS_ZONES),
    isIn(
      "karpenter.sh/capacity-type",
      random.pick([
        ["on-demand"],
        ["on-demand", "spot"],
        ["reserved", "on-demand"],
        ["reserved", "spot", "on-demand"],
      ]),
    ),
    isIn("karpenter.k8s.aws/instance-family", random.pick([["c5"], ["c5", "m5"], ["m5", "r5"]])),
    isIn(
      "karpenter.k8s.aws/instance-cpu",
      random.pick([
        ["2", "4", "8", "16"],
        ["4", "8", "16"],
      ]),
    ),
  ];
  const nodeClassRef = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
  const spec = { ...template.spec, nodeClassRef, requirements };
  return { ...pool, spec: { ...pool.spec, template: { ...template, spec } } };
}

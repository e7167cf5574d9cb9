/**
 * The first objects of tests on a real control plane: kwok's node class, a NodePool of on-demand nodes that
 * removes an empty node after one second, and a Deployment of pause pods.
 */
import type { KubeObject } from "../../src/apis/meta.ts";

export const CLASS_REF = { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" };
export const ON_DEMAND = {
  key: "karpenter.sh/capacity-type",
  operator: "In",
  values: ["on-demand"],
};

export const NODE_CLASS = {
  apiVersion: "karpenter.kwok.sh/v1alpha1",
  kind: "KWOKNodeClass",
  metadata: { name: "default" },
  spec: {},
} as KubeObject;

export interface PoolParts {
  /** Fields that are added to `spec.template` or replace fields of it: `metadata`, `spec`. */
  readonly template?: { readonly metadata?: object; readonly spec?: object };
  readonly disruption?: object;
  /** Further fields of the pool's spec: `limits`, `weight`. */
  readonly spec?: object;
}

export function nodePool(name: string, parts: PoolParts = {}): KubeObject {
  const { metadata = {}, spec = {} } = parts.template ?? {};
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: {
        metadata,
        spec: { nodeClassRef: CLASS_REF, requirements: [ON_DEMAND], ...spec },
      },
      disruption: {
        consolidationPolicy: "WhenEmpty",
        consolidateAfter: "1s",
        budgets: [{ nodes: "100%" }],
        ...parts.disruption,
      },
      ...parts.spec,
    },
  } as KubeObject;
}

const BETA_CLASS_REF = {
  apiVersion: "karpenter.kwok.sh/v1alpha1",
  kind: "KWOKNodeClass",
  name: "default",
};

/** A v1beta1 NodePool that disrupts no node unless `disruption` says so. */
export function betaPool(name: string, disruption: object): KubeObject {
  return {
    apiVersion: "karpenter.sh/v1beta1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: { spec: { nodeClassRef: BETA_CLASS_REF, requirements: [ON_DEMAND] } },
      disruption: {
        consolidationPolicy: "WhenEmpty",
        consolidateAfter: "Never",
        budgets: [{ nodes: "100%" }],
        ...disruption,
      },
    },
  } as KubeObject;
}

/** A v1alpha5 Provisioner that disrupts no node unless `spec` says so. */
export function alphaPool(name: string, spec: object): KubeObject {
  return {
    apiVersion: "karpenter.sh/v1alpha5",
    kind: "Provisioner",
    metadata: { name },
    spec: {
      providerRef: BETA_CLASS_REF,
      // Without requirements the default ones ask for AWS instance categories, which simulated instances lack.
      requirements: [{ key: "node.kubernetes.io/instance-type", operator: "Exists" }],
      ...spec,
    },
  } as KubeObject;
}

export interface PauseParts {
  readonly replicas?: number;
  /** Resource requests of the pod. Default: one CPU. */
  readonly requests?: Readonly<Record<string, string>>;
  /** Labels of the pods, added to `app`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations of the pods. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Further fields of the pod's spec: `nodeSelector`, `affinity`. */
  readonly spec?: object;
}

/** The spec of a pause pod. */
export function pauseSpec({ requests, spec }: PauseParts): object {
  const resources = { requests: { cpu: "1", ...requests } };
  return {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "c", image: "pause", resources }],
    ...spec,
  };
}

export function pauseDeployment(name: string, parts: PauseParts = {}): KubeObject {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas: parts.replicas ?? 0,
      selector: { matchLabels: labels },
      template: {
        metadata: {
          labels: { ...parts.labels, ...labels },
          ...(parts.annotations && { annotations: parts.annotations }),
        },
        spec: pauseSpec(parts),
      },
    },
  } as KubeObject;
}

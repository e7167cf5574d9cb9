/**
 * The objects that tests on a real control plane begin with: kwok's node class, a NodePool of on-demand nodes
 * that lets go within a second, and a Deployment of pause pods.
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
  /** Beside or instead of what `spec.template` has: `metadata`, `spec`. */
  readonly template?: { readonly metadata?: object; readonly spec?: object };
  readonly disruption?: object;
  /** Beside `template` and `disruption`: `limits`, `weight`. */
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

/** A v1beta1 NodePool that lets no node go but as `disruption` says. */
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

/** A v1alpha5 Provisioner; it lets no node go but as `spec` says. */
export function alphaPool(name: string, spec: object): KubeObject {
  return {
    apiVersion: "karpenter.sh/v1alpha5",
    kind: "Provisioner",
    metadata: { name },
    spec: {
      providerRef: BETA_CLASS_REF,
      // Simulated instances have no AWS categories, which would be asked for by default.
      requirements: [{ key: "node.kubernetes.io/instance-type", operator: "Exists" }],
      ...spec,
    },
  } as KubeObject;
}

export interface PauseParts {
  readonly replicas?: number;
  /** One CPU where nothing is said. */
  readonly requests?: Readonly<Record<string, string>>;
  /** Of the pods, beside `app`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Of the pods. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Beside the container: `nodeSelector`, `affinity`. */
  readonly spec?: object;
}

/** What a pod of it says. */
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

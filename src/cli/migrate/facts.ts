/** The facts for `karpenter migrate check`, gathered by reading only. The checks are pure functions. */
import type { Deployment } from "../../apis/apps/kinds.ts";
import type { Crd } from "../../apis/core/custom-resource-definition.ts";
import type { Node } from "../../apis/core/node.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { Lease } from "../../apis/policy/kinds.ts";
import type { Unread } from "../checks/checks.ts";

/** A cluster with another Karpenter or with none. */
export interface MigrationFacts {
  readonly nowMs: number;
  /** CustomResourceDefinitions of Karpenter's groups. */
  readonly crds: readonly Crd[];
  /** Objects of the kinds in `crds`, in the newest version that is served. */
  readonly objects: readonly KubeObject[];
  readonly nodes: readonly Node[];
  /** Deployments that run a Karpenter. */
  readonly deployments: readonly Deployment[];
  /** Leases with the name that every Karpenter uses. */
  readonly leases: readonly Lease[];
  /** Names of webhook configurations of Karpenter. */
  readonly webhooks: readonly string[];
  /** The given values of the chart. Absent: none were given. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Actions that the IAM policies allow, as written, including wildcards. Absent: not given. */
  readonly allowed?: readonly string[];
  /** What could not be read, and why. */
  readonly unread: readonly Unread[];
}

/** The facts about this program that are compared with the cluster. */
export interface OwnFacts {
  readonly crds: readonly KubeObject[];
  /** JSON schema of the chart's values. */
  readonly valuesSchema: ValueSchema;
  /** IAM actions that the controller needs. */
  readonly needed: readonly string[];
}

/** The parts of a JSON schema that are used here. */
export interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly additionalProperties?: boolean | ValueSchema;
  readonly items?: ValueSchema;
  readonly [field: string]: unknown;
}

/**
 * The facts for `karpenter doctor`, from the cluster, AWS and this machine. The checks of these facts are pure
 * functions.
 */
import type { Deployment } from "../../apis/apps/kinds.ts";
import type { Crd } from "../../apis/core/custom-resource-definition.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { VcpuQuotaUse } from "../../apis/karpenter/facts.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { Lease } from "../../apis/policy/kinds.ts";
import type { ProviderName } from "../../operator/rights.ts";
import type { Unread } from "../checks/checks.ts";

/** One right, and whether the account has it. */
export interface AskedRight {
  readonly verb: string;
  /** The resource with its group, such as `nodeclaims.karpenter.sh`. */
  readonly resource: string;
  readonly namespace?: string;
  /** The only object that was asked about. Absent: any object. */
  readonly name?: string;
  readonly allowed: boolean;
  readonly why: string;
}

/** One attempt, such as a DNS lookup; `problem` says why it failed. */
export interface Tried {
  readonly what: string;
  readonly problem?: string;
  /** Why the attempt was not made. Absent: it was made. */
  readonly skipped?: string;
  /** What Karpenter does if the attempt fails. Only for services without which Karpenter works. */
  readonly instead?: string;
  /** What to do about the problem. Absent: what helps with any service that does not answer. */
  readonly remedy?: string;
}

/** A webhook in the cluster's configuration. */
export interface WebhookTarget {
  readonly name: string;
  /** The Service as `namespace/name`. Absent: the webhook has a URL. */
  readonly service?: string;
  readonly url?: string;
  /** Number of ready addresses of the Service. Undefined: it could not be read. */
  readonly ready?: number | undefined;
}

/** The number of free addresses of a subnet. */
export interface SubnetRoom {
  readonly id: string;
  readonly free: number;
}

/** The account's vCPU quotas and their use, or why they could not be read. */
export type ReadQuotas =
  | { readonly quotas: readonly VcpuQuotaUse[] }
  | { readonly problem: string };

/** Everything that the checks read. */
export interface DoctorFacts {
  readonly provider: ProviderName;
  /** Deployments of Karpenter in its namespace. */
  readonly deployments: readonly Deployment[];
  /** The pods of these Deployments. */
  readonly controllerPods: readonly Pod[];
  readonly nowMs: number;
  /** This machine's clock minus the API server's. Undefined: not known. */
  readonly skewMs: number | undefined;
  readonly serverVersion: string | undefined;
  /**
   * Whether this is the sandbox. There Karpenter runs in the same process, without a Lease, and answers webhooks
   * directly.
   */
  readonly isSandbox: boolean;
  /** The namespace of the controller. */
  readonly namespace: string;
  readonly isNamespaceMissing: boolean;
  /** The account whose rights were checked. */
  readonly account: string;
  /** Whether this is the account of whoever runs the doctor. */
  readonly isOwnAccount: boolean;
  /** Whether the ServiceAccount does not exist. If so, its rights were not checked. */
  readonly isAccountMissing: boolean;
  readonly rights: readonly AskedRight[];
  readonly crds: readonly Crd[];
  readonly leases: readonly Lease[];
  /** Namespaces in which the Deployments want a Lease, and which do not exist. */
  readonly missingLeaseNamespaces: readonly string[];
  readonly webhooks: readonly WebhookTarget[];
  readonly pools: readonly KubeObject[];
  readonly classes: readonly KubeObject[];
  readonly claims: readonly KubeObject[];
  /** Free addresses of the classes' subnets. Undefined: AWS was not asked or did not answer. */
  readonly subnets: readonly SubnetRoom[] | undefined;
  /** The account's vCPU quotas; undefined: AWS was not asked. */
  readonly quotas: ReadQuotas | undefined;
  /** The DNS names that were looked up and the AWS calls that were made to test the connection. */
  readonly tried: readonly Tried[];
  readonly unread: readonly Unread[];
}

/** What `karpenter doctor` knows: gathered from the cluster, from AWS and from this machine; the checks are pure. */
import type { Crd } from "../../apis/core/custom-resource-definition.ts";
import type { VcpuQuotaUse } from "../../apis/karpenter/facts.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { Lease } from "../../apis/policy/kinds.ts";

/** One right that was asked about. */
export interface AskedRight {
  readonly verb: string;
  /** `nodeclaims.karpenter.sh` */
  readonly resource: string;
  readonly namespace?: string;
  readonly allowed: boolean;
  readonly why: string;
}

/** One thing that was tried; `problem` says what came of it. */
export interface Tried {
  readonly what: string;
  readonly problem?: string;
  /** Not tried: why. */
  readonly skipped?: string;
  /** Nodes are launched without it, too: what is done instead. */
  readonly instead?: string;
}

/** Where the API server is told to call a webhook. */
export interface WebhookTarget {
  readonly name: string;
  /** `namespace/name` of a Service; absent: a URL. */
  readonly service?: string;
  readonly url?: string;
  /** Ready addresses behind the Service; undefined: it could not be read. */
  readonly ready?: number | undefined;
}

/** Free addresses of a subnet. */
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
  readonly nowMs: number;
  /** Ours minus the API server's; undefined: it does not tell the time. */
  readonly skewMs: number | undefined;
  readonly serverVersion: string | undefined;
  /** Whether this is our sandbox: Karpenter runs in its process, without a Lease, and answers webhooks there. */
  readonly isSandbox: boolean;
  /** Where the controller is said to run. */
  readonly namespace: string;
  readonly isNamespaceMissing: boolean;
  /** Whose rights these are. */
  readonly account: string;
  /** There is no such ServiceAccount, so nothing was asked about its rights. */
  readonly isAccountMissing: boolean;
  readonly rights: readonly AskedRight[];
  readonly crds: readonly Crd[];
  readonly leases: readonly Lease[];
  readonly webhooks: readonly WebhookTarget[];
  readonly pools: readonly KubeObject[];
  readonly classes: readonly KubeObject[];
  readonly claims: readonly KubeObject[];
  /** Free addresses of the subnets that classes chose; undefined: AWS was not asked, or did not tell. */
  readonly subnets: readonly SubnetRoom[] | undefined;
  /** The account's vCPU quotas; undefined: AWS was not asked. */
  readonly quotas: ReadQuotas | undefined;
  /** DNS names and calls to AWS. */
  readonly tried: readonly Tried[];
  readonly unread: readonly { readonly what: string; readonly why: string }[];
}

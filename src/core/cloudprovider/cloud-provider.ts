/**
 * The interface to any cloud. The folders `providers/aws` and `providers/kwok` implement it, and controllers call it.
 * upstream: pkg/cloudprovider/types.go
 */

import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind } from "../../apis/meta.ts";
import type { InstanceType } from "./instance-type.ts";
import type { RepairPolicy } from "./repair-policy.ts";

/**
 * Deletes the claim of an instance that the cloud reports as impaired. Resolves to false if the brake, which stops all
 * ends of nodes, is on. `prepare` runs right before the deletion, with the claim as read from the API server.
 */
export type EndImpaired = (
  claim: NodeClaim,
  prepare: (live: NodeClaim) => Promise<void>,
) => Promise<boolean>;

/**
 * Claims have the v1 form, whatever their API version is (apis/hub/claim.ts). Only `kind` and `apiVersion` show whether
 * a claim is stored as a Machine or as a NodeClaim.
 */
export interface CloudProvider {
  readonly name: string;
  /**
   * Node class kinds that this provider supports. The first one is the default. Node classes of other kinds are
   * ignored.
   */
  readonly nodeClassKinds: readonly Kind[];
  /**
   * Label keys that this cloud's instance types define. A pod may require them although a pool does not define them.
   */
  readonly wellKnownLabels: readonly string[];
  /**
   * Launches one instance. Returns the claim with status.providerID, imageID, capacity, allocatable and the labels of
   * the instance, and with status.nodeName if the cloud knows it. Rejects with the errors of errors.ts. `overlay`:
   * applies NodeOverlays to the instance types of the claim's pool. Absent: there are no overlays.
   */
  create(
    claim: NodeClaim,
    overlay?: (types: readonly InstanceType[]) => readonly InstanceType[],
  ): Promise<NodeClaim>;
  /**
   * Lets the claim use a running instance that was launched for it, but that no claim names in status.providerID.
   * Returns the claim as `create` does. Undefined: launching the claim now would give a different kind of instance.
   */
  takeOver(
    claim: NodeClaim,
    providerId: string,
    overlay?: (types: readonly InstanceType[]) => readonly InstanceType[],
  ): Promise<NodeClaim | undefined>;
  /** Terminates the instance. Rejects with NodeClaimNotFoundError if it is terminated already. */
  delete(claim: NodeClaim): Promise<void>;
  /**
   * Reboots the instance, only once for each `operation`. Rejects with NodeClaimNotFoundError or RebootRefusedError if
   * a retry would not help.
   */
  reboot(claim: NodeClaim, operation: string): Promise<void>;
  /** The instance as a claim without a name. Rejects with NodeClaimNotFoundError if there is none. */
  get(providerId: string): Promise<NodeClaim>;
  /** All instances of this cluster that are not terminated. creationTimestamp is the launch time. */
  list(): Promise<readonly NodeClaim[]>;
  /** All instance types that the pool's node class allows, including those without an available offering. */
  getInstanceTypes(pool: Pool): Promise<readonly InstanceType[]>;
  /**
   * Labels of the claim that are known only after the instance runs. They are read before its node is registered, so
   * that pods see them from the start. Undefined: they are not known yet, and registration waits.
   */
  labelsOfRunning(claim: NodeClaim): Promise<Readonly<Record<string, string>> | undefined>;
  /**
   * Whether the cloud, asked about the claim's instance type alone, does not sell it any more. The list of all types
   * may be short. False: it still does, or it is not proven.
   */
  isTypeGone(claim: NodeClaim): Promise<boolean>;
  /** The provider's drift reason (`AMIDrift`, …). Undefined: the claim is not drifted. */
  isDrifted(claim: NodeClaim): Promise<string | undefined>;
  /**
   * Whether the provider knows that the cloud is reclaiming the instance. Then its pods are moved without further
   * waits.
   */
  isTakenBack(claim: NodeClaim): boolean;
  /** Quotas: name → units that the account may still launch. Empty: quotas are not checked. */
  quotaRoom(): ReadonlyMap<string, number>;
  /** The conditions of Nodes on which node repair acts. */
  readonly repairPolicies: readonly RepairPolicy[];
}

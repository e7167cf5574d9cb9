/**
 * The port to any cloud. upstream: pkg/cloudprovider/types.go. Providers implement it
 * (`providers/aws`, `providers/kwok`); controllers call it through `World.cloud`.
 */

import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind } from "../../apis/meta.ts";
import type { InstanceType } from "./instance-type.ts";
import type { RepairPolicy } from "./repair-policy.ts";

/**
 * Deletes the claim of an instance that the cloud reports as impaired. Resolves false if the brake is on. `prepare`
 * runs just before the deletion, with the claim as read from the API server.
 */
export type EndImpaired = (
  claim: NodeClaim,
  prepare: (live: NodeClaim) => Promise<void>,
) => Promise<boolean>;

/**
 * Claims here are in the hub's v1 shape whatever their generation (apis/hub/claim.ts): `kind` and
 * `apiVersion` still tell a Machine from a NodeClaim.
 */
export interface CloudProvider {
  readonly name: string;
  /** Node class kinds that this provider serves. The first is the default. Objects of other kinds are ignored. */
  readonly nodeClassKinds: readonly Kind[];
  /** Label keys that this cloud's instance types define. A planned claim may lack them (SchedulingOptions). */
  readonly wellKnownLabels: readonly string[];
  /**
   * Launches one instance. Returns the claim with status.providerID, imageID, capacity, allocatable and the labels of
   * the instance, and with status.nodeName if the cloud knows it. Rejects with the errors of errors.ts. `overlay`:
   * applies NodeOverlays to the types that the claim's pool can launch; absent: none.
   */
  create(
    claim: NodeClaim,
    overlay?: (types: readonly InstanceType[]) => readonly InstanceType[],
  ): Promise<NodeClaim>;
  /**
   * A running instance that was launched for the claim and that no claim names. Returns the claim as `create` does.
   * Undefined: a launch of the claim now would give an instance of another kind.
   */
  takeOver(
    claim: NodeClaim,
    providerId: string,
    overlay?: (types: readonly InstanceType[]) => readonly InstanceType[],
  ): Promise<NodeClaim | undefined>;
  /** Terminates the instance. Rejects with NodeClaimNotFoundError once it has ended. */
  delete(claim: NodeClaim): Promise<void>;
  /**
   * Reboots the instance, once for each `operation`. Rejects with NodeClaimNotFoundError or RebootRefusedError if a
   * retry would not help.
   */
  reboot(claim: NodeClaim, operation: string): Promise<void>;
  /** The instance as a claim without a name; rejects with NodeClaimNotFoundError. */
  get(providerId: string): Promise<NodeClaim>;
  /** Every live instance of this cluster. creationTimestamp is the launch time. */
  list(): Promise<readonly NodeClaim[]>;
  /** All types that the pool's node class allows, including those without an available offering. */
  getInstanceTypes(pool: Pool): Promise<readonly InstanceType[]>;
  /**
   * Labels of the claim that are known only after the instance runs. They are read before its node is registered, so
   * that pods see them at once. Undefined: not known yet, and registration waits.
   */
  labelsOfRunning(claim: NodeClaim): Promise<Readonly<Record<string, string>> | undefined>;
  /** The provider's drift reason (`AMIDrift`, …), or undefined. */
  isDrifted(claim: NodeClaim): Promise<string | undefined>;
  /**
   * Whether the provider knows that the cloud takes back the instance. Then its pods are moved without further waits.
   */
  isTakenBack(claim: NodeClaim): boolean;
  /** Quota → units that the account may still launch. Empty: quotas are not checked. */
  quotaRoom(): ReadonlyMap<string, number>;
  /** The conditions on which node repair acts. */
  readonly repairPolicies: readonly RepairPolicy[];
}

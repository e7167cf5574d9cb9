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
 * Deletes the claim of an instance that the cloud finds impaired. False: not now, as the brake is on. `prepare` runs
 * just before, with the claim as the API server has it.
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
  /** Node class kinds this provider serves; the first is the default. Others are not ours. */
  readonly nodeClassKinds: readonly Kind[];
  /**
   * Label keys this cloud's types bring: a planned claim need not have them yet
   * (SchedulingOptions).
   */
  readonly wellKnownLabels: readonly string[];
  /**
   * Launches one instance. Returns the claim with status.providerID, imageID, capacity, allocatable
   * and the labels of what was launched; status.nodeName where the cloud knows the host's name and the
   * log wants it. Rejects with the errors below. `overlay`: what NodeOverlays make of the types that the
   * claim's pool can launch; absent: nothing.
   */
  create(
    claim: NodeClaim,
    overlay?: (types: readonly InstanceType[]) => readonly InstanceType[],
  ): Promise<NodeClaim>;
  /**
   * The claim with this running instance, which was launched before and which no claim names, as `create` returns it.
   * Undefined: a launch of the claim now would bring another kind of instance.
   */
  takeOver(
    claim: NodeClaim,
    providerId: string,
    overlay?: (types: readonly InstanceType[]) => readonly InstanceType[],
  ): Promise<NodeClaim | undefined>;
  /** Ends the instance; rejects with NodeClaimNotFoundError once it is gone for good. */
  delete(claim: NodeClaim): Promise<void>;
  /**
   * Asks the instance to reboot; a call with the same `operation` reboots it once. Rejects with NodeClaimNotFoundError
   * or RebootRefusedError if asking again would not help.
   */
  reboot(claim: NodeClaim, operation: string): Promise<void>;
  /** The instance as a claim without a name; rejects with NodeClaimNotFoundError. */
  get(providerId: string): Promise<NodeClaim>;
  /** Every live instance of this cluster. creationTimestamp is the launch time. */
  list(): Promise<readonly NodeClaim[]>;
  /** All types the pool's class allows, also those without an available offering. */
  getInstanceTypes(pool: Pool): Promise<readonly InstanceType[]>;
  /**
   * Labels of the claim that only the running instance tells; asked before its node is registered, so that pods
   * find them there. Undefined: not known yet, the registration waits.
   */
  labelsOfRunning(claim: NodeClaim): Promise<Readonly<Record<string, string>> | undefined>;
  /** The provider's drift reason (`AMIDrift`, …), or undefined. */
  isDrifted(claim: NodeClaim): Promise<string | undefined>;
  /** Whether the provider was told that the cloud takes the instance away: what is to leave it leaves at once. */
  isTakenBack(claim: NodeClaim): boolean;
  /** Quota → units that the account may still launch now. Empty: quotas are not looked at. */
  quotaRoom(): ReadonlyMap<string, number>;
  /** What node repair acts on. */
  readonly repairPolicies: readonly RepairPolicy[];
}

/**
 * Finds what other programs changed on a claim that this process has just created. For example, a mutating webhook may
 * remove its labels or requirements. The node would then not suit the pods that it was planned for, and the next plan
 * would launch another node. karpenter-ts only.
 */
import type { Taint } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { firstUntolerated, formatTaint, isSameTaint } from "../../apis/core/tolerations.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { normalizedLabel } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import type { OwnerReference } from "../../apis/meta.ts";
import { deepEqual } from "../../base/json.ts";
import { requiredAlternatives, topologyKeys } from "../scheduling/pod-requirements.ts";
import { toSpecs } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";

/** A claim as this process created it, and the pods that it was planned for. */
export interface ClaimPlan {
  readonly claim: NodeClaim;
  readonly pods: readonly Pod[];
}

/** The key of a claim: `kind/name`. Claims of two API versions may have the same name. */
export function claimKey(kind: string, name: string): string {
  return `${kind}/${name}`;
}

export function keyOfClaim({ kind = "NodeClaim", metadata }: NodeClaim): string {
  return claimKey(kind, metadata.name);
}

/** Remembers how this process planned the claims that it creates, until they are registered. */
export class ClaimPlans {
  readonly #plans = new Map<string, ClaimPlan>();

  /** Remembers the plan of a claim that is about to be created. */
  begin(plan: ClaimPlan): void {
    this.#plans.set(keyOfClaim(plan.claim), plan);
  }

  /**
   * Records that the claim was created. From then on the plan is only for the claim with its UID. Undefined: the
   * creation failed.
   */
  created(plan: ClaimPlan, created: NodeClaim | undefined): void {
    const key = keyOfClaim(plan.claim);
    if (created === undefined) this.forget(key);
    const { uid } = created?.metadata ?? {};
    if (uid === undefined) return;
    const claim = { ...plan.claim, metadata: { ...plan.claim.metadata, uid } };
    this.#plans.set(key, { ...plan, claim });
  }

  /** The plan of the claim. Undefined: another process created the claim, or it is another claim of that name. */
  of(claim: NodeClaim): ClaimPlan | undefined {
    const plan = this.#plans.get(keyOfClaim(claim));
    const { uid = claim.metadata.uid } = plan?.claim.metadata ?? {};
    return uid === claim.metadata.uid ? plan : undefined;
  }

  /**
   * The stored claim with the labels that it was created with, see {@link withCreatedLabels}. Forgets the plan of a
   * registered claim.
   */
  applyTo(stored: NodeClaim): NodeClaim {
    const claim = withCreatedLabels(stored, this.of(stored));
    if (isTrue(claim, "Registered")) this.forget(keyOfClaim(claim));
    return claim;
  }

  forget(key: string): void {
    this.#plans.delete(key);
  }
}

/**
 * The stored claim with the labels that it was created with. The same object if it has them all. After the launch, only
 * Karpenter's labels are put back, because users may change other labels.
 */
export function withCreatedLabels(stored: NodeClaim, plan: ClaimPlan | undefined): NodeClaim {
  if (plan === undefined) return stored;
  const changed = changedLabels(stored, plan.claim).filter(
    (key) => !isLaunched(stored) || isKarpenters(key),
  );
  if (changed.length === 0) return stored;
  const planned = plan.claim.metadata.labels ?? {};
  const labels = Object.fromEntries(changed.map((key) => [key, planned[key] as string]));
  return {
    ...stored,
    metadata: { ...stored.metadata, labels: { ...stored.metadata.labels, ...labels } },
  };
}

/** Owner references with the UID `ownerUid` that the claim was created with and that it has lost before its launch. */
export function lostOwners(
  stored: NodeClaim,
  { claim: planned }: ClaimPlan,
  ownerUid: string | undefined,
): readonly OwnerReference[] {
  if (isLaunched(stored)) return [];
  const owners = stored.metadata.ownerReferences ?? [];
  return (planned.metadata.ownerReferences ?? []).filter(
    ({ uid }) => uid === ownerUid && !owners.some((one) => one.uid === uid),
  );
}

function isLaunched({ status }: NodeClaim): boolean {
  return Boolean(status?.providerID);
}

/**
 * What other programs changed on the claim, in words: labels, requirements, taints and the node class that it has lost.
 * Also new taints that a planned pod does not tolerate.
 */
export function changedParts(stored: NodeClaim, plan: ClaimPlan): readonly string[] {
  return [...changedLabels(stored, plan.claim).map(labelText), ...changedSpec(stored, plan)];
}

/**
 * Like {@link changedParts}, but only changes with which the node might not suit its pods, belong to no pool, or drift
 * at once. So labels are left out that are not Karpenter's and that neither a planned pod nor the pool asks for.
 */
export function harmfulParts(
  stored: NodeClaim,
  plan: ClaimPlan,
  pool: Pick<Pool, "requirements"> | undefined,
): readonly string[] {
  const labels = changedLabels(stored, plan.claim);
  if (labels.length === 0) return changedSpec(stored, plan);
  const asked = askedLabels(plan.pods);
  for (const { key } of pool?.requirements ?? []) asked.add(normalizedLabel(key));
  const harmful = labels.filter((key) => isKarpenters(key) || asked.has(normalizedLabel(key)));
  return [...harmful.map(labelText), ...changedSpec(stored, plan)];
}

/** The labels of nodes that these pods require or that their topology rules count by. */
function askedLabels(pods: readonly Pod[]): Set<string> {
  const keys = topologyKeys(pods);
  for (const { spec } of pods)
    for (const one of requiredAlternatives(spec)) for (const key of one.keys()) keys.add(key);
  return keys;
}

/**
 * Whether the label is in one of Karpenter's domains, such as `karpenter.sh`. Karpenter itself may read such a label.
 */
function isKarpenters(key: string): boolean {
  return /(^|\.)karpenter\.[^/]+\//.test(key);
}

function labelText(key: string): string {
  return `label ${key}`;
}

/**
 * What other programs changed in the spec of the claim, in words. Additional requirements, narrower requirements and
 * taints that all planned pods tolerate are left out.
 */
function changedSpec(stored: NodeClaim, { claim: planned, pods }: ClaimPlan): readonly string[] {
  const { spec } = stored;
  const requirements = widened(planned.spec.requirements, spec.requirements);
  const removed = (["taints", "startupTaints"] as const).flatMap((field) => {
    const left = spec[field] ?? [];
    return (planned.spec[field] ?? []).filter(
      (taint) => !left.some((one) => isSameTaint(one, taint)),
    );
  });
  const known = [...(planned.spec.taints ?? []), ...(spec.startupTaints ?? [])];
  const added = (spec.taints ?? []).filter(
    (taint) =>
      !known.some((one) => isSameTaint(one, taint) && one.value === taint.value) &&
      pods.some(({ spec: { tolerations } }) => refuses(tolerations, taint)),
  );
  const [ref, plannedRef] = [spec.nodeClassRef, planned.spec.nodeClassRef];
  const isOtherClass = (["group", "kind", "name"] as const).some(
    (field) => ref[field] !== plannedRef[field],
  );
  return [
    ...requirements.map((key) => `requirement ${key}`),
    ...[...removed, ...added].map((taint) => `taint ${formatTaint(taint)}`),
    ...(isOtherClass ? ["nodeClassRef"] : []),
  ];
}

function refuses(tolerations: Pod["spec"]["tolerations"], taint: Taint): boolean {
  return (
    firstUntolerated(tolerations, [taint], { effects: ["NoSchedule", "NoExecute"] }) !== undefined
  );
}

function changedLabels(stored: NodeClaim, planned: NodeClaim): readonly string[] {
  const { labels = {} } = planned.metadata;
  return Object.keys(labels).filter((key) => stored.metadata.labels?.[key] !== labels[key]);
}

/** The keys for which the stored requirements allow a value that the planned ones forbid. */
function widened(
  planned: readonly RequirementSpec[],
  stored: readonly RequirementSpec[],
): readonly string[] {
  if (planned === stored) return [];
  const now = Requirements.fromSpecs(stored);
  const narrower = now.and(Requirements.fromSpecs(planned));
  return [...new Set(planned.map(({ key }) => normalizedLabel(key)))].filter(
    (key) => !now.has(key) || !deepEqual(toSpecs(now.get(key)), toSpecs(narrower.get(key))),
  );
}

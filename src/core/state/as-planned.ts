/**
 * What other programs change on a claim that this process has just created. A mutating webhook may remove its labels
 * or requirements. The node would then not suit the pods that it was planned for, and the next plan would buy another.
 * karpenter-ts only.
 */
import type { Taint } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { firstUntolerated, formatTaint, isSameTaint } from "../../apis/core/tolerations.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { normalizedLabel } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";

/** A claim as this process created it, and the pods that it was planned for. */
export interface ClaimPlan {
  readonly claim: NodeClaim;
  readonly pods: readonly Pod[];
}

/** A key for claims of all generations: `kind/name`. */
export function claimKey(kind: string, name: string): string {
  return `${kind}/${name}`;
}

export function keyOfClaim({ kind = "NodeClaim", metadata }: NodeClaim): string {
  return claimKey(kind, metadata.name);
}

/** Plans of claims that this process created and that are not registered yet. */
export class ClaimPlans {
  readonly #plans = new Map<string, ClaimPlan>();

  begin(plan: ClaimPlan): void {
    this.#plans.set(keyOfClaim(plan.claim), plan);
  }

  /** From now on only the claim with this UID has the plan. Undefined: the creation failed. */
  created(plan: ClaimPlan, created: NodeClaim | undefined): void {
    const key = keyOfClaim(plan.claim);
    if (created === undefined) this.forget(key);
    const { uid } = created?.metadata ?? {};
    if (uid === undefined) return;
    const claim = { ...plan.claim, metadata: { ...plan.claim.metadata, uid } };
    this.#plans.set(key, { ...plan, claim });
  }

  /** Undefined: another process created the claim, or it is another claim of that name. */
  of(claim: NodeClaim): ClaimPlan | undefined {
    const plan = this.#plans.get(keyOfClaim(claim));
    const { uid = claim.metadata.uid } = plan?.claim.metadata ?? {};
    return uid === claim.metadata.uid ? plan : undefined;
  }

  /** The stored claim with what it was created with. A registered claim needs its plan no more. */
  applyTo(stored: NodeClaim): NodeClaim {
    const claim = asPlanned(stored, this.of(stored));
    if (isTrue(claim, "Registered")) this.forget(keyOfClaim(claim));
    return claim;
  }

  forget(key: string): void {
    this.#plans.delete(key);
  }
}

/** The stored claim with the labels and owners that it was created with. The same object if it has them all. */
export function asPlanned(stored: NodeClaim, plan: ClaimPlan | undefined): NodeClaim {
  if (plan === undefined) return stored;
  const planned = plan.claim;
  const owners = stored.metadata.ownerReferences ?? [];
  const lost = (planned.metadata.ownerReferences ?? []).filter(
    ({ uid }) => !owners.some((one) => one.uid === uid),
  );
  if (lost.length === 0 && changedLabels(stored, planned).length === 0) return stored;
  const labels = { ...stored.metadata.labels, ...planned.metadata.labels };
  const ownerReferences = lost.length === 0 ? {} : { ownerReferences: [...owners, ...lost] };
  return { ...stored, metadata: { ...stored.metadata, labels, ...ownerReferences } };
}

/** Parts of the plan that the stored claim lacks, in words: labels, and all of {@link harmfulParts}. */
export function changedParts(stored: NodeClaim, plan: ClaimPlan): readonly string[] {
  return [...changedLabels(stored, plan.claim).map(labelText), ...changedSpec(stored, plan)];
}

/**
 * Like {@link changedParts}, but only those for which a machine of this claim might not suit its pods, or be counted
 * for no pool. A label that is not Karpenter's and that no planned pod asks for is not among them.
 */
export function harmfulParts(stored: NodeClaim, plan: ClaimPlan): readonly string[] {
  const labels = changedLabels(stored, plan.claim);
  if (labels.length === 0) return changedSpec(stored, plan);
  const asked = askedLabels(plan.pods);
  const harmful = labels.filter((key) => isKarpenters(key) || asked.has(normalizedLabel(key)));
  return [...harmful.map(labelText), ...changedSpec(stored, plan)];
}

/** The labels of nodes that these pods require or that their topology rules count by. */
function askedLabels(pods: readonly Pod[]): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { spec } of pods) {
    const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
    const terms = [podAffinity, podAntiAffinity].flatMap(
      (rule) => rule?.requiredDuringSchedulingIgnoredDuringExecution ?? [],
    );
    const { nodeSelectorTerms = [] } =
      nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? {};
    for (const key of [
      ...Object.keys(spec.nodeSelector ?? {}),
      ...nodeSelectorTerms.flatMap(({ matchExpressions = [] }) =>
        matchExpressions.map((one) => one.key),
      ),
      ...[...(spec.topologySpreadConstraints ?? []), ...terms].map((one) => one.topologyKey),
    ])
      keys.add(normalizedLabel(key));
  }
  return keys;
}

/** Whether Karpenter itself reads the label, for example to find the pool of a claim. */
function isKarpenters(key: string): boolean {
  return /(^|\.)karpenter\.[^/]+\//.test(key);
}

function labelText(key: string): string {
  return `label ${key}`;
}

/**
 * Requirements, taints and the node class that the stored claim lacks, in words, and new taints that a planned pod
 * does not tolerate. Other additions and narrower requirements are not listed.
 */
function changedSpec(stored: NodeClaim, { claim: planned, pods }: ClaimPlan): readonly string[] {
  const { spec } = stored;
  const requirements = planned.spec.requirements.filter(
    (asked) => !spec.requirements.some((one) => isAsNarrow(one, asked)),
  );
  const taints = (["taints", "startupTaints"] as const).flatMap((field) =>
    without(planned.spec[field], spec[field]),
  );
  const added = without(spec.taints, [
    ...(planned.spec.taints ?? []),
    ...(spec.startupTaints ?? []),
  ]).filter((taint) => pods.some(({ spec: { tolerations } }) => refuses(tolerations, taint)));
  const [ref, plannedRef] = [spec.nodeClassRef, planned.spec.nodeClassRef];
  const isOtherClass = (["group", "kind", "name"] as const).some(
    (field) => ref[field] !== plannedRef[field],
  );
  return [
    ...requirements.map(({ key }) => `requirement ${key}`),
    ...[...taints, ...added].map((taint) => `taint ${formatTaint(taint)}`),
    ...(isOtherClass ? ["nodeClassRef"] : []),
  ];
}

function without(taints: readonly Taint[] = [], others: readonly Taint[] = []): readonly Taint[] {
  return taints.filter((taint) => !others.some((one) => isSameTaint(one, taint)));
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

/** Whether the requirement allows no value that the other one forbids. Only `In` is compared by its values. */
function isAsNarrow(one: RequirementSpec, asked: RequirementSpec): boolean {
  if (one.key !== asked.key || one.operator !== asked.operator) return false;
  const [values, allowed] = [one.values ?? [], asked.values ?? []];
  if (values.length === allowed.length && values.every((value, at) => value === allowed[at]))
    return true;
  const among = new Set(allowed);
  return one.operator === "In" && values.length > 0 && values.every((value) => among.has(value));
}

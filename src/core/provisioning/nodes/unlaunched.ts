/**
 * Facts about a claim before it is launched: the labels that its node will have, and labels that are still open, such
 * as its zone. Also finds the pods that must wait for these labels.
 */
import type { Namespace } from "../../../apis/core/kinds.ts";
import type { Pod, PodAffinityTerm } from "../../../apis/core/pod.ts";
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  normalizedLabel,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { eachInSteps, filterInSteps, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { Offering } from "../../cloudprovider/instance-type.ts";
import { reservationOf, usableOfferings } from "../../cloudprovider/offerings.ts";
import { requiredOf, topologyKeys } from "../../scheduling/pod-requirements.ts";
import { allows } from "../../scheduling/requirement.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { labelOf } from "../pools/whole-types.ts";
import type { PlannedClaim } from "../result.ts";
import { namespacesOf, withLabelKeys } from "../topology/topology-group.ts";

/** The labels of the cheapest instance that the claim allows, without those of `keys` that are still open. */
export function supposedLabels(
  plan: PlannedClaim,
  keys: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const { instanceTypes, cheapest, requirements } = plan;
  const type = instanceTypes.find(({ name }) => name === cheapest.instanceType);
  if (type === undefined) return {};
  const wanted = Requirements.fromSpecs(requirements);
  const labels: Record<string, string> = {};
  // The labels of a type include ids of reservations, but an instance that is not reserved does not have them.
  const ofOfferings = new Set(type.offerings.flatMap((one) => Object.keys(one.labels ?? {})));
  for (const [key, values] of Object.entries(type.labels)) {
    if (ofOfferings.has(key)) continue;
    const value = values.find((one) => allows(wanted.get(key), one));
    if (value !== undefined) labels[key] = value;
  }
  const { zone, capacityType } = cheapest;
  Object.assign(labels, cheapestOfferingOf(plan)?.labels);
  labels[TOPOLOGY_ZONE_LABEL_KEY] = zone;
  labels[CAPACITY_TYPE_LABEL_KEY] = capacityType;
  for (const key of keys) if (isOpen(plan, key)) delete labels[key];
  return labels;
}

/** The offering of the cheapest instance that the claim allows. Undefined: the claim does not name that type. */
export function cheapestOfferingOf(plan: PlannedClaim): Offering | undefined {
  const { instanceTypes, cheapest, requirements } = plan;
  const { zone, capacityType } = cheapest;
  const type = instanceTypes.find(({ name }) => name === cheapest.instanceType);
  if (type === undefined) return undefined;
  const idOf = (offering: Offering) => reservationOf(offering)?.id ?? "";
  const [first] = usableOfferings(type, Requirements.fromSpecs(requirements))
    .filter((one) => one.zone === zone && one.capacityType === capacityType)
    .sort((a, b) => a.priceMicroUsd - b.priceMicroUsd || (idOf(a) < idOf(b) ? -1 : 1));
  return first;
}

type Types = PlannedClaim["instanceTypes"];
type Specs = PlannedClaim["requirements"];

/** Cached results of {@link isOpen}. There may be thousands of claims, and equal claims share their lists. */
const answers = new WeakMap<Types, WeakMap<Specs, Map<string, boolean>>>();

/** Whether the claim may be launched with different values of the label, so that the value is not known yet. */
function isOpen({ instanceTypes, requirements }: PlannedClaim, key: string): boolean {
  const ofTypes = within(answers, instanceTypes, () => new WeakMap<Specs, Map<string, boolean>>());
  const known = within(ofTypes, requirements, () => new Map<string, boolean>());
  return within(known, key, () => hasSeveral(instanceTypes, requirements, key));
}

function hasSeveral(instanceTypes: Types, requirements: Specs, key: string): boolean {
  const wanted = Requirements.fromSpecs(requirements);
  const requirement = wanted.get(key);
  if (!requirement.complement && requirement.values.length < 2) return false;
  let only: string | undefined;
  for (const type of instanceTypes) {
    for (const offering of usableOfferings(type, wanted)) {
      const own = labelOf(offering, key);
      for (const value of own === undefined ? (type.labels[key] ?? []) : [own]) {
        if (!allows(requirement, value)) continue;
        if (only !== undefined && only !== value) return true;
        only = value;
      }
    }
  }
  return false;
}

/** An unlaunched claim, and the labels that its node will have. */
export interface Unlaunched {
  readonly plan: PlannedClaim;
  readonly labels: Readonly<Record<string, string>>;
}

/** A pod on an unlaunched claim, and those topology labels of the claim whose values are not known yet. */
interface PodOnClaim {
  readonly there: Pod;
  readonly open: ReadonlySet<string>;
}

/**
 * The pods that need not wait for the launch of these claims. Two kinds of pods wait for one pass:
 * - A pod with anti-affinity to a pod on such a claim. Both could end up in the same domain.
 * - A pod with affinity to pods like itself, some of which are on such a claim. It could become a first pod in another
 *   domain.
 */
export function* withoutWaiting(
  pods: readonly Pod[],
  claims: readonly Unlaunched[],
  namespaces: readonly Namespace[],
): Steps<readonly Pod[]> {
  const onClaims = [...(yield* podsOnClaims(pods, claims)).values()];
  // A pod without rules can only conflict with pods that have an anti-affinity. Most clusters have few of those.
  const apart = onClaims.filter(({ there }) => holdsApart(there));
  const known = new Map<string, boolean>();
  return yield* filterInSteps(pods, (pod) => {
    const others = hasRules(pod) ? onClaims : apart;
    if (others.length === 0) return true;
    const text = affinityText(pod);
    const waits =
      known.get(text) ?? others.some(({ there, open }) => dependsOn(pod, there, open, namespaces));
    known.set(text, waits);
    return !waits;
  });
}

/** One pod for each kind of pod on these claims. {@link affinityText} tells kinds apart. */
function* podsOnClaims(
  pods: readonly Pod[],
  claims: readonly Unlaunched[],
): Steps<ReadonlyMap<string, PodOnClaim>> {
  const keys = topologyKeys([...pods, ...claims.flatMap(({ plan }) => plan.pods)]);
  const onClaims = new Map<string, PodOnClaim>();
  yield* eachInSteps(claims, ({ plan, labels }) => {
    const open = [...keys].filter((key) => labels[key] === undefined && isOpen(plan, key));
    if (open.length === 0) return;
    for (const there of plan.pods)
      onClaims.set(`${open} ${affinityText(there)}`, { there, open: new Set(open) });
  });
  return onClaims;
}

function holdsApart({ spec: { affinity } }: Pod): boolean {
  return requiredOf(affinity?.podAntiAffinity).length > 0;
}

function hasRules(pod: Pod): boolean {
  return holdsApart(pod) || requiredOf(pod.spec.affinity?.podAffinity).length > 0;
}

/** A text about the pod. Pods with equal texts have equal affinities, and the same affinities select them. */
function affinityText({ metadata: { namespace, labels }, spec: { affinity } }: Pod): string {
  return JSON.stringify([namespace, labels, affinity]);
}

function dependsOn(
  pod: Pod,
  other: Pod,
  open: ReadonlySet<string>,
  namespaces: readonly Namespace[],
): boolean {
  const means = (owner: Pod, term: PodAffinityTerm, whom: Pod) =>
    open.has(normalizedLabel(term.topologyKey)) && isMeant(owner, term, whom, namespaces);
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  return (
    requiredOf(podAntiAffinity).some((term) => means(pod, term, other)) ||
    requiredOf(other.spec.affinity?.podAntiAffinity).some((term) => means(other, term, pod)) ||
    requiredOf(podAffinity).some((term) => means(pod, term, pod) && means(pod, term, other))
  );
}

function isMeant(
  { metadata: { namespace = "default", labels = {} } }: Pod,
  term: PodAffinityTerm,
  whom: Pod,
  all: readonly Namespace[],
): boolean {
  const within = namespacesOf(term, namespace, all);
  if (within?.has(whom.metadata.namespace ?? "default") === false) return false;
  const alike = withLabelKeys(term.labelSelector, labels, term.matchLabelKeys);
  const selector = withLabelKeys(alike, labels, term.mismatchLabelKeys, "NotIn");
  return matchesLabelSelector(selector, whom.metadata.labels);
}

/**
 * What a pod wants of its neighbours and its node, as parts that can be given up one by one. A pod
 * that fits nowhere as it is gives up its lightest claims last: the order is upstream's. upstream:
 * pkg/controllers/provisioning/scheduling/preferences.go
 */
import type {
  Pod,
  PodAffinityTerm,
  PodSpec,
  Toleration,
  TopologySpreadConstraint,
} from "../../../apis/core/pod.ts";
import { type PodTemplate, templateOf } from "../../../apis/core/pod-template.ts";
import {
  requiredAlternatives,
  selectorRequirements,
  termRequirements,
} from "../../scheduling/pod-requirements.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { TOLERATE_PREFERENCES } from "../../scheduling/taints.ts";
import { isUsablePreference } from "./eligibility.ts";

/** Heaviest first. */
type Preferred<T> = readonly { readonly weight: number; readonly term: T }[];

export interface Wishes {
  /** nodeSelector joined with each OR term; the first one counts. Never empty. */
  readonly required: readonly Requirements[];
  /** Terms that were given up while something was still preferred. */
  readonly givenUp: readonly Requirements[];
  readonly preferred: Preferred<Requirements>;
  readonly affinity: readonly PodAffinityTerm[];
  readonly preferredAffinity: Preferred<PodAffinityTerm>;
  readonly antiAffinity: readonly PodAffinityTerm[];
  readonly preferredAntiAffinity: Preferred<PodAffinityTerm>;
  readonly spreads: readonly TopologySpreadConstraint[];
  readonly tolerations: readonly Toleration[];
  readonly toleratesPreferences: boolean;
}

interface Read {
  readonly policy: "Respect" | "Ignore";
  readonly wellKnownLabels: readonly string[];
  readonly wishes: Wishes;
}

/** As they were read last. */
const readOf = new WeakMap<PodTemplate, Read>();

/** All that the pod asks for; under `Ignore` without what is only preferred. Read once a template. */
export function wishesOf(
  spec: PodSpec,
  policy: "Respect" | "Ignore",
  wellKnownLabels: readonly string[],
): Wishes {
  const template = templateOf(spec);
  if (template === undefined) return readWishes(spec, policy, wellKnownLabels);
  const known = readOf.get(template);
  if (known?.policy === policy && known.wellKnownLabels === wellKnownLabels) return known.wishes;
  const wishes = readWishes(template, policy, wellKnownLabels);
  readOf.set(template, { policy, wellKnownLabels, wishes });
  return wishes;
}

function readWishes(
  spec: PodSpec,
  policy: "Respect" | "Ignore",
  wellKnownLabels: readonly string[],
): Wishes {
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const respect = policy === "Respect";
  const spreads = spec.topologySpreadConstraints ?? NONE;
  const nodeTerms = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution?.filter(
    ({ preference }) => isUsablePreference(preference, wellKnownLabels),
  );
  const preferredPods = (terms: typeof podAffinity): Preferred<PodAffinityTerm> =>
    heaviestFirst(
      respect ? terms?.preferredDuringSchedulingIgnoredDuringExecution : undefined,
      ({ weight, podAffinityTerm }) => ({ weight, term: podAffinityTerm }),
    );
  return {
    required: requiredAlternatives(spec),
    givenUp: NONE,
    preferred: heaviestFirst(respect ? nodeTerms : undefined, ({ weight, preference }) => ({
      weight,
      term: termRequirements(preference),
    })),
    affinity: podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? NONE,
    preferredAffinity: preferredPods(podAffinity),
    antiAffinity: podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? NONE,
    preferredAntiAffinity: preferredPods(podAntiAffinity),
    spreads: respect
      ? spreads
      : spreads.filter((one) => one.whenUnsatisfiable !== "ScheduleAnyway"),
    tolerations: spec.tolerations ?? NONE,
    toleratesPreferences: false,
  };
}

/**
 * The wishes with one thing given up; undefined when nothing is left to give up. `canTolerate`:
 * some pool or node has a PreferNoSchedule taint; upstream looks at pools only.
 */
export function relax(wishes: Wishes, canTolerate: boolean): Wishes | undefined {
  const { required, givenUp } = wishes;
  if (required.length > 1)
    return {
      ...wishes,
      required: required.slice(1),
      givenUp: [...givenUp, required[0] as Requirements],
    };
  if (wishes.preferredAffinity.length > 0)
    return { ...wishes, preferredAffinity: wishes.preferredAffinity.slice(1) };
  if (wishes.preferredAntiAffinity.length > 0)
    return { ...wishes, preferredAntiAffinity: wishes.preferredAntiAffinity.slice(1) };
  if (wishes.preferred.length > 0) return { ...wishes, preferred: wishes.preferred.slice(1) };
  const soft = wishes.spreads.findIndex((one) => one.whenUnsatisfiable === "ScheduleAnyway");
  if (soft >= 0) return { ...wishes, spreads: wishes.spreads.toSpliced(soft, 1) };
  if (canTolerate && !wishes.toleratesPreferences) {
    const tolerations = [...wishes.tolerations, TOLERATE_PREFERENCES];
    return { ...wishes, tolerations, toleratesPreferences: true };
  }
  // What is only preferred may have been what kept the pod from the other terms.
  if (givenUp.length > 0)
    return { ...wishes, required: givenUp.slice(0, 1), givenUp: givenUp.slice(1) };
  return undefined;
}

/** What the node must be for the wishes as they stand: `strict` leaves the preference out. */
export function nodeRequirements(wishes: Wishes): { all: Requirements; strict: Requirements } {
  const strict = wishes.required[0] ?? Requirements.NONE;
  const heaviest = wishes.preferred[0];
  return { all: heaviest === undefined ? strict : strict.and(heaviest.term), strict };
}

/** The nodes that a spread counts over: any required term, as the scheduler will see it later. */
export function eligibleNodes(spec: Pod["spec"]): readonly Requirements[] {
  const alternatives = requiredAlternatives(spec);
  return alternatives.length > 0 ? alternatives : [selectorRequirements(spec.nodeSelector)];
}

/** Most pods prefer nothing: what they share need not be made. */
function heaviestFirst<T, R>(
  terms: readonly T[] | undefined,
  read: (term: T) => { readonly weight: number; readonly term: R },
): Preferred<R> {
  if (terms === undefined || terms.length === 0) return NONE;
  return terms.map(read).sort((a, b) => b.weight - a.weight);
}

const NONE: readonly never[] = [];

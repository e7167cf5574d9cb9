/**
 * A pod's rules about nodes and about other pods. A pod that fits nowhere drops one preference at a time, in upstream's
 * order, and is tried again.
 * upstream: pkg/controllers/provisioning/scheduling/preferences.go
 */
import type {
  PodAffinityTerm,
  PodSpec,
  Toleration,
  TopologySpreadConstraint,
} from "../../../apis/core/pod.ts";
import { type PodTemplate, templateOf } from "../../../apis/core/pod-template.ts";
import {
  requiredAlternatives,
  requiredOf,
  termRequirements,
} from "../../scheduling/pod-requirements.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { TOLERATE_PREFERENCES } from "../../scheduling/taints.ts";
import { isUsablePreference } from "./eligibility.ts";

/** Preferred terms, the heaviest first. */
type Preferred<T> = readonly { readonly weight: number; readonly term: T }[];

/** The requirements and preferences of a pod that are left after some preferences were dropped. */
export interface Wishes {
  /** One entry for each required term, joined with nodeSelector. Only the first entry is applied now. Never empty. */
  readonly required: readonly Requirements[];
  /** Required terms that were dropped. They are tried again after the last preference is dropped. */
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

/** The last result of {@link wishesOf} for each pod template, and the settings with which it was computed. */
const readOf = new WeakMap<PodTemplate, Read>();

/**
 * All rules of the pod. With policy `Ignore`, preferences are left out. The result is kept for the pod's template until
 * the settings change; a pod without a template is read each time.
 */
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
    affinity: requiredOf(podAffinity),
    preferredAffinity: preferredPods(podAffinity),
    antiAffinity: requiredOf(podAntiAffinity),
    preferredAntiAffinity: preferredPods(podAntiAffinity),
    spreads: respect
      ? spreads
      : spreads.filter((one) => one.whenUnsatisfiable !== "ScheduleAnyway"),
    tolerations: spec.tolerations ?? NONE,
    toleratesPreferences: false,
  };
}

/**
 * The wishes after one more preference is dropped. Undefined: none is left. `canTolerate`: some pool or node has a
 * PreferNoSchedule taint. Upstream looks at pools only.
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
  // A dropped preference may have been the reason why another required term failed, so these terms are tried again.
  if (givenUp.length > 0)
    return { ...wishes, required: givenUp.slice(0, 1), givenUp: givenUp.slice(1) };
  return undefined;
}

/** What a node must satisfy: the first required term with the heaviest preferred term. `strict`: without the latter. */
export function nodeRequirements(wishes: Wishes): { all: Requirements; strict: Requirements } {
  const strict = wishes.required[0] ?? Requirements.NONE;
  const heaviest = wishes.preferred[0];
  return { all: heaviest === undefined ? strict : strict.and(heaviest.term), strict };
}

/** Returns `NONE`, one shared list, for pods without preferences. Most pods have none. */
function heaviestFirst<T, R>(
  terms: readonly T[] | undefined,
  read: (term: T) => { readonly weight: number; readonly term: R },
): Preferred<R> {
  if (terms === undefined || terms.length === 0) return NONE;
  return terms.map(read).sort((a, b) => b.weight - a.weight);
}

const NONE: readonly never[] = [];

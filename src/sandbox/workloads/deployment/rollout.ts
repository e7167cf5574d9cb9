/**
 * The arithmetic of a Deployment's rollout, as pure functions: how many replicas each ReplicaSet gets next, the
 * counts of the status, and the hash of a template.
 */
import type { Deployment, PodTemplateSpec, ReplicaSet } from "../../../apis/apps/kinds.ts";
import { canonicalJson } from "../../../base/json.ts";
import { scaledValue } from "../controls.ts";

/** A ReplicaSet, and the replicas it gets next. */
export interface RolloutStep {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

/** maxSurge and maxUnavailable as counts. If both are zero, maxUnavailable becomes one, or no rollout could begin. */
export function sumOf(deployment: Deployment): { maxSurge: number; maxUnavailable: number } {
  if (deployment.spec.strategy?.type === "Recreate") return { maxSurge: 0, maxUnavailable: 0 };
  const total = deployment.spec.replicas ?? 1;
  const rolling = deployment.spec.strategy?.rollingUpdate;
  const maxSurge = scaledValue(rolling?.maxSurge ?? "25%", total, "up");
  const unavailable = scaledValue(rolling?.maxUnavailable ?? "25%", total, "down");
  const maxUnavailable = maxSurge === 0 && unavailable === 0 ? 1 : Math.min(unavailable, total);
  return { maxSurge, maxUnavailable };
}

/** The next replica counts. Sets whose count does not change are left out. `older`: sorted by age. */
export function rolloutSteps(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  older: readonly ReplicaSet[],
): readonly RolloutStep[] {
  const wanted = deployment.spec.replicas ?? 1;
  if (deployment.spec.paused === true) return scaleInProportion(deployment, current, older);
  if (deployment.spec.strategy?.type === "Recreate") {
    const down = older.map((set) => ({ set, replicas: 0 }));
    return changed(current === undefined ? down : [...down, { set: current, replicas: wanted }]);
  }
  if (current === undefined) return [];
  const resized = scaleInProportion(deployment, current, older);
  if (resized.length > 0) return resized;
  const all = [current, ...older];
  const up = growth(deployment, current, all);
  // As in the real controller, one step never grows the new set and shrinks old sets together.
  if (up !== (current.spec.replicas ?? 0)) return [{ set: current, replicas: up }];
  return changed(shrinkOld(deployment, current, older));
}

/** The replicas with which a new set begins beside the `older` ones. */
export function firstReplicas(deployment: Deployment, older: readonly ReplicaSet[]): number {
  const wanted = deployment.spec.replicas ?? 1;
  if (deployment.spec.strategy?.type === "Recreate") return wanted;
  const room = wanted + sumOf(deployment).maxSurge - totalReplicas(older);
  return Math.max(0, Math.min(wanted, room));
}

/** Maximum number of replicas that the current set may have now. */
function growth(deployment: Deployment, current: ReplicaSet, all: readonly ReplicaSet[]): number {
  const wanted = deployment.spec.replicas ?? 1;
  const has = current.spec.replicas ?? 0;
  if (has >= wanted) return wanted;
  const room = wanted + sumOf(deployment).maxSurge - totalReplicas(all);
  return room <= 0 ? has : Math.min(wanted, has + room);
}

/** Shrinks old sets: first by pods that are not ready, then by ready pods as far as availability allows. */
function shrinkOld(
  deployment: Deployment,
  current: ReplicaSet,
  older: readonly ReplicaSet[],
): readonly RolloutStep[] {
  const wanted = deployment.spec.replicas ?? 1;
  const minAvailable = wanted - sumOf(deployment).maxUnavailable;
  const currentMissing = (current.spec.replicas ?? 0) - availableOf(current);
  let budget = totalReplicas([current, ...older]) - minAvailable - currentMissing;
  const replicas = new Map(older.map((set) => [set, set.spec.replicas ?? 0]));
  for (const set of older) {
    const has = replicas.get(set) as number;
    const broken = Math.min(Math.max(0, budget), Math.max(0, has - availableOf(set)));
    replicas.set(set, has - broken);
    budget -= broken;
  }
  const available = [current, ...older].reduce((sum, set) => sum + availableOf(set), 0);
  let spare = available - minAvailable;
  for (const set of older) {
    const has = replicas.get(set) as number;
    const less = Math.min(Math.max(0, spare), has);
    replicas.set(set, has - less);
    spare -= less;
  }
  return older.map((set) => ({ set, replicas: replicas.get(set) as number }));
}

const DESIRED_ANNOTATION = "deployment.kubernetes.io/desired-replicas";

/**
 * The steps after the Deployment was resized: a single active set gets all replicas, several share them in
 * proportion.
 */
function scaleInProportion(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  older: readonly ReplicaSet[],
): readonly RolloutStep[] {
  const wanted = deployment.spec.replicas ?? 1;
  const all = current === undefined ? older : [...older, current];
  const active = all.filter((set) => (set.spec.replicas ?? 0) > 0);
  const [only] = active;
  if (active.length <= 1) {
    const target = only ?? current;
    // The only set with pods is an old one. It gets the new size, and the current set does not get it yet.
    if (target === undefined || (older.length > 0 && target !== current)) {
      return resizedBy(target, wanted);
    }
    return target === current ? changed([{ set: target, replicas: wanted }]) : [];
  }
  const resized = active.some((set) => {
    const noted = set.metadata.annotations?.[DESIRED_ANNOTATION];
    return set !== current && noted !== undefined && Number(noted) !== wanted;
  });
  if (!resized) return [];
  const allowed = wanted === 0 ? 0 : wanted + sumOf(deployment).maxSurge;
  return changed(shares(active, allowed - totalReplicas(active), allowed));
}

/**
 * The step for an old set that is the only one with pods. Empty unless the Deployment was resized since its
 * annotation was written.
 */
function resizedBy(target: ReplicaSet | undefined, wanted: number): readonly RolloutStep[] {
  const noted = target?.metadata.annotations?.[DESIRED_ANNOTATION];
  if (target === undefined || noted === undefined || Number(noted) === wanted) return [];
  return changed([{ set: target, replicas: wanted }]);
}

function shares(
  active: readonly ReplicaSet[],
  difference: number,
  allowed: number,
): readonly RolloutStep[] {
  const total = totalReplicas(active);
  const bySize = [...active].sort((a, b) => (b.spec.replicas ?? 0) - (a.spec.replicas ?? 0));
  let left = difference;
  const steps = bySize.map((set) => {
    const has = set.spec.replicas ?? 0;
    const exact = total === 0 ? 0 : Math.round((has * allowed) / total) - has;
    const share = difference > 0 ? Math.min(exact, left) : Math.max(exact, left);
    left -= share;
    return { set, replicas: Math.max(0, has + share) };
  });
  const [largest, ...rest] = steps;
  if (largest === undefined) return [];
  return [{ ...largest, replicas: Math.max(0, largest.replicas + left) }, ...rest];
}

function changed(steps: readonly RolloutStep[]): readonly RolloutStep[] {
  return steps.filter(({ set, replicas }) => (set.spec.replicas ?? 0) !== replicas);
}

function totalReplicas(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, set) => sum + (set.spec.replicas ?? 0), 0);
}

function statusNumber(set: ReplicaSet | undefined, field: string): number {
  return Number(set?.status?.[field] ?? 0);
}

function availableOf(set: ReplicaSet): number {
  return statusNumber(set, "availableReplicas");
}

/** The counts of a Deployment's status. Undefined: zero, which the real controller leaves out. */
export function deploymentCounts(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  owned: readonly ReplicaSet[],
) {
  const sum = (field: string): number =>
    owned.reduce((total, set) => total + statusNumber(set, field), 0);
  const available = sum("availableReplicas");
  const wanted = deployment.spec.replicas ?? 1;
  const enough = available >= wanted - sumOf(deployment).maxUnavailable;
  return {
    status: {
      observedGeneration: deployment.metadata.generation,
      replicas: sum("replicas") || undefined,
      updatedReplicas: statusNumber(current, "replicas") || undefined,
      readyReplicas: sum("readyReplicas") || undefined,
      availableReplicas: available || undefined,
      unavailableReplicas: Math.max(0, totalReplicas(owned) - available) || undefined,
    },
    available: enough
      ? ({
          type: "Available",
          status: "True",
          reason: "MinimumReplicasAvailable",
          message: "Deployment has minimum availability.",
        } as const)
      : ({
          type: "Available",
          status: "False",
          reason: "MinimumReplicasUnavailable",
          message: "Deployment does not have minimum availability.",
        } as const),
  };
}

const HASH_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** A short hash of a template, valid as a label. Equal templates have equal hashes. */
export function templateHash(template: PodTemplateSpec, collisions: number): string {
  let hash = 0x811c9dc5;
  const text = `${canonicalJson(template)}${collisions === 0 ? "" : collisions}`;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return [...String(hash >>> 0)]
    .map((digit) => HASH_ALPHABET[digit.charCodeAt(0) % HASH_ALPHABET.length])
    .join("");
}

/**
 * The ReplicaSets of a Deployment: what a new one contains, which one has the current template, the revision
 * of each, and which are beyond the history limit. Pure functions.
 * upstream: pkg/controller/deployment/util
 */
import { DEPLOYMENT, type Deployment, type ReplicaSet } from "../../../apis/apps/kinds.ts";
import { createdAtMs } from "../../../apis/meta.ts";
import { deepEqual } from "../../../base/json.ts";
import { ownerReference } from "../controls.ts";
import { firstReplicas, sumOf } from "./rollout.ts";

export const REVISION_ANNOTATION = "deployment.kubernetes.io/revision";
const HISTORY_ANNOTATION = "deployment.kubernetes.io/revision-history";
const DESIRED_ANNOTATION = "deployment.kubernetes.io/desired-replicas";
const MAX_ANNOTATION = "deployment.kubernetes.io/max-replicas";
const HASH_LABEL = "pod-template-hash";
const NOT_COPIED = [
  "kubectl.kubernetes.io/last-applied-configuration",
  REVISION_ANNOTATION,
  HISTORY_ANNOTATION,
  DESIRED_ANNOTATION,
  MAX_ANNOTATION,
];

/** A new set for the Deployment's current template. `hash`: that of the template; it is part of the set's name. */
export function newSetOf(
  deployment: Deployment,
  owned: readonly ReplicaSet[],
  hash: string,
): ReplicaSet {
  const { template, selector, minReadySeconds } = deployment.spec;
  const { namespace, name } = deployment.metadata;
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  const revision = Math.max(0, ...owned.map(revisionOf)) + 1;
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${name}-${hash}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels,
      annotations: annotationsOf(deployment, revision),
      ownerReferences: [ownerReference(DEPLOYMENT, deployment)],
    },
    spec: {
      replicas: firstReplicas(deployment, owned),
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

/** Whether the set has the Deployment's template, apart from the hash label. */
export function isOfTemplate(set: ReplicaSet, deployment: Deployment): boolean {
  const { [HASH_LABEL]: _, ...labels } = set.spec.template.metadata?.labels ?? {};
  const template = {
    ...set.spec.template,
    metadata: { ...set.spec.template.metadata, labels },
  };
  const own = deployment.spec.template;
  const wanted = { ...own, metadata: { ...own.metadata, labels: own.metadata?.labels ?? {} } };
  return deepEqual(template, wanted);
}

/** Orders ReplicaSets by age, the oldest first. */
export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  return createdAtMs(a) - createdAtMs(b) || (a.metadata.name < b.metadata.name ? -1 : 1);
}

/** ReplicaSets of the Deployment other than the current one. */
export function olderThan(
  current: ReplicaSet | undefined,
  owned: readonly ReplicaSet[],
): readonly ReplicaSet[] {
  return owned.filter((set) => set.metadata.name !== current?.metadata.name);
}

/** The revision of the current set, which is higher than those of all others. */
export function revisionFor(current: ReplicaSet, owned: readonly ReplicaSet[]): number {
  const older = olderThan(current, owned);
  const highest = Math.max(0, ...older.map(revisionOf));
  return Math.max(revisionOf(current), highest + (older.length > 0 ? 1 : 0), 1);
}

/** The annotations of the current set at this revision. */
export function annotationsAt(
  revision: number,
  current: ReplicaSet,
  deployment: Deployment,
): Record<string, string> {
  return {
    ...current.metadata.annotations,
    ...annotationsOf(deployment, revision),
    ...pastRevisions(current, revision),
  };
}

/** The annotations with the Deployment's wanted size, for each set with pods. */
export function sizeNotes(deployment: Deployment): Record<string, string> {
  const replicas = deployment.spec.replicas ?? 1;
  return {
    [DESIRED_ANNOTATION]: String(replicas),
    [MAX_ANNOTATION]: String(replicas + sumOf(deployment).maxSurge),
  };
}

/** Sets without pods beyond the history limit, the lowest revisions. */
export function surplusOf(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  owned: readonly ReplicaSet[],
): readonly ReplicaSet[] {
  const limit = deployment.spec.revisionHistoryLimit ?? 10;
  const idle = olderThan(current, owned).filter(
    (set) =>
      (set.spec.replicas ?? 0) === 0 &&
      (set.status?.replicas ?? 0) === 0 &&
      set.metadata.deletionTimestamp === undefined,
  );
  const surplus = [...idle].sort((a, b) => revisionOf(a) - revisionOf(b));
  return surplus.slice(0, Math.max(0, surplus.length - limit));
}

function revisionOf(set: ReplicaSet): number {
  return Number(set.metadata.annotations?.[REVISION_ANNOTATION] ?? 0) || 0;
}

/** The annotation with the earlier revisions of a set, for a set that becomes the newest again. */
function pastRevisions(set: ReplicaSet, revision: number): Record<string, string> {
  const before = revisionOf(set);
  if (before === 0 || before >= revision) return {};
  const known = set.metadata.annotations?.[HISTORY_ANNOTATION];
  return { [HISTORY_ANNOTATION]: known === undefined ? String(before) : `${known},${before}` };
}

function annotationsOf(deployment: Deployment, revision: number): Record<string, string> {
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(
    ([key]) => !NOT_COPIED.includes(key),
  );
  return {
    ...Object.fromEntries(copied),
    [REVISION_ANNOTATION]: String(revision),
    ...sizeNotes(deployment),
  };
}

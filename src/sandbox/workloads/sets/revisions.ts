/**
 * The history of the templates of a StatefulSet or DaemonSet: one ControllerRevision for each template, the
 * newest with the highest number. `kubectl rollout history` reads them and `rollout undo` applies one. Pods
 * have the hash of their revision as a label. If an old template is used again, its revision becomes the
 * newest.
 */
import {
  CONTROLLER_REVISION,
  type ControllerRevision,
  type PodTemplateSpec,
} from "../../../apis/apps/kinds.ts";
import type { Kind, KubeObject } from "../../../apis/meta.ts";
import { controllerOf } from "../../../apis/meta.ts";
import { deepEqual } from "../../../base/json.ts";
import { deleteIfThere } from "../../../kube/client/delete-if-there.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { isAlreadyExists } from "../../../kube/errors.ts";
import type { PartDeps } from "../../parts.ts";
import { ownerReference } from "../controls.ts";
import { templateHash } from "../deployment/rollout.ts";

const DEFAULT_HISTORY = 10;

/** A workload whose templates are kept as ControllerRevisions. */
export interface RevisedSet extends KubeObject {
  readonly spec: { readonly template: PodTemplateSpec; readonly revisionHistoryLimit?: number };
}

/** The revisions of one workload. */
export interface Revisions<T extends RevisedSet> {
  /** The revision of the current template. It is created, or made the newest again, if needed. */
  newest(set: T): Promise<ControllerRevision>;
  /** The template of a revision by its name. */
  template(set: T, name: string): PodTemplateSpec | undefined;
  /** Deletes the oldest revisions beyond `revisionHistoryLimit`. Revisions in use stay and are not counted. */
  prune(set: T, isUsed: (revision: ControllerRevision) => boolean): Promise<void>;
}

/** Creates the Revisions of one kind. `hashLabel` is the label of a revision with its hash. */
export function revisionsOf<T extends RevisedSet>(
  deps: PartDeps,
  kind: Kind<T>,
  hashLabel: string,
): Revisions<T> {
  const mirror = deps.mirrors.of(CONTROLLER_REVISION);

  /** All revisions of a set, the oldest first. */
  function all(set: T): ControllerRevision[] {
    return mirror
      .list()
      .filter((revision) => controllerOf(revision)?.uid === set.metadata.uid)
      .sort((a, b) => a.revision - b.revision || (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  async function create(set: T, revision: number, collisions: number): Promise<ControllerRevision> {
    const made = revisionObject(kind, set, hashLabel, { revision, collisions });
    try {
      return await deps.kube.create(CONTROLLER_REVISION, made);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const { name, namespace } = made.metadata;
      const ref = { name, namespace };
      const existing = await deps.kube.get(CONTROLLER_REVISION, ref);
      if (controllerOf(existing)?.uid === set.metadata.uid && isOf(set, existing)) return existing;
      return create(set, revision, collisions + 1);
    }
  }

  return {
    async newest(set) {
      const known = all(set);
      const equal = known.findLast((revision) => isOf(set, revision));
      const last = known.at(-1)?.revision ?? 0;
      if (equal === undefined) return create(set, last + 1, 0);
      if (equal.revision === last) return equal;
      const renewed = { ...equal, revision: last + 1 };
      await patchObject(deps.kube, CONTROLLER_REVISION, equal, renewed);
      return renewed;
    },
    template(set, name) {
      const template = all(set).find(({ metadata }) => metadata.name === name)?.data?.spec
        ?.template;
      if (template === undefined) return undefined;
      const { $patch: _, ...rest } = template;
      return rest;
    },
    async prune(set, isUsed) {
      const idle = all(set).filter((revision) => !isUsed(revision));
      const surplus = idle.length - (set.spec.revisionHistoryLimit ?? DEFAULT_HISTORY);
      for (const revision of idle.slice(0, Math.max(0, surplus)))
        await deleteIfThere(deps.kube, CONTROLLER_REVISION, revision);
    },
  };
}

function revisionObject<T extends RevisedSet>(
  kind: Kind<T>,
  set: T,
  hashLabel: string,
  { revision, collisions }: { readonly revision: number; readonly collisions: number },
): ControllerRevision {
  const hash = templateHash(set.spec.template, collisions);
  const { namespace, name, annotations } = set.metadata;
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: `${name}-${hash}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...set.spec.template.metadata?.labels, [hashLabel]: hash },
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [ownerReference(kind, set)],
    },
    data: dataOf(set),
    revision,
  };
}

/** A patch that replaces the template, for `kubectl rollout undo`. */
function dataOf({ spec: { template } }: RevisedSet): NonNullable<ControllerRevision["data"]> {
  return { spec: { template: { ...template, $patch: "replace" } } };
}

function isOf(set: RevisedSet, { data }: ControllerRevision): boolean {
  return deepEqual(data, dataOf(set));
}

/**
 * The StatefulSet controller. Pods have ordinals and claims of their own. They are created in order and
 * deleted in reverse, unless the set is Parallel. Updates go from the highest ordinal down to the partition.
 * Claims stay when pods are deleted.
 */
import { STATEFUL_SET, type StatefulSet } from "../../../apis/apps/kinds.ts";
import { PERSISTENT_VOLUME_CLAIM } from "../../../apis/core/kinds.ts";
import { POD } from "../../../apis/core/pod.ts";
import { keyOf } from "../../../apis/meta.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { isAlreadyExists } from "../../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps, podMirror } from "../../parts.ts";
import { createPod, podsOwnedBy, removePod, requestsToOwner, untilAvailable } from "../controls.ts";
import { revisionsOf } from "./revisions.ts";
import {
  ordinalClaims,
  ordinalPod,
  REVISION_LABEL,
  revisionFor,
  type SetStep,
  setStatus,
  setSteps,
} from "./statefulset-pods.ts";

/** Keeps the numbered pods and their claims. upstream: pkg/controller/statefulset of Kubernetes. */
export function statefulSetController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const sets = mirrors.of(STATEFUL_SET);
  const claims = mirrors.of(PERSISTENT_VOLUME_CLAIM);
  const recorder = createPartRecorder(deps, "statefulset-controller");
  const revisions = revisionsOf(deps, STATEFUL_SET, "controller.kubernetes.io/hash");
  podMirror(mirrors);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const set = sets.get(`${namespace}/${name}`);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return AWAIT_CHANGE;
    const revision = (await revisions.newest(set)).metadata.name;
    for (const step of setSteps(set, revision, podsOwnedBy(deps, set), clock.now()))
      await take(set, revision, step);
    const current = sets.get(keyOf(set)) ?? set;
    const status = setStatus(current, revision, podsOwnedBy(deps, current), clock.now());
    await patchObject(kube, STATEFUL_SET, current, { ...current, status });
    await forgetRevisions(set, revision);
    return untilAvailable(podsOwnedBy(deps, set), set.spec.minReadySeconds, clock.now());
  }

  async function take(set: StatefulSet, newest: string, step: SetStep): Promise<void> {
    if (step.do === "remove") return removePod(deps, recorder, STATEFUL_SET, set, step.pod);
    const older = revisionFor(set, newest, step.ordinal);
    const kept = revisions.template(set, older);
    const [revision, template] = kept === undefined ? [newest, set.spec.template] : [older, kept];
    await createClaims(set, step.ordinal);
    const pod = ordinalPod(set, step.ordinal, { revision, template });
    await createPod(deps, recorder, STATEFUL_SET, set, pod);
  }

  async function createClaims(set: StatefulSet, ordinal: number): Promise<void> {
    for (const claim of ordinalClaims(set, ordinal)) {
      if (claims.get(keyOf(claim)) !== undefined) continue;
      try {
        await kube.create(PERSISTENT_VOLUME_CLAIM, claim);
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
  }

  async function forgetRevisions(set: StatefulSet, newest: string): Promise<void> {
    const inUse = new Set(
      podsOwnedBy(deps, set).map(({ metadata }) => metadata.labels?.[REVISION_LABEL]),
    );
    inUse.add(newest).add(sets.get(keyOf(set))?.status?.["currentRevision"] as string | undefined);
    await revisions.prune(set, ({ metadata }) => inUse.has(metadata.name));
  }

  return {
    name: "statefulset",
    watches: [source(STATEFUL_SET), source(POD, requestsToOwner("StatefulSet"))],
    concurrency: 4,
    reconcile,
  };
}

/**
 * The Deployment controller. It keeps one ReplicaSet for each template, replaces pods within maxSurge and
 * maxUnavailable, keeps revisions for `kubectl rollout undo`, and sets the conditions that `kubectl rollout
 * status` waits for.
 * upstream: pkg/controller/deployment
 */
import {
  DEPLOYMENT,
  type Deployment,
  REPLICA_SET,
  type ReplicaSet,
} from "../../../apis/apps/kinds.ts";
import { isTerminal, POD, type Pod } from "../../../apis/core/pod.ts";
import { controllerOf } from "../../../apis/meta.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps, podMirror } from "../../parts.ts";
import { podsOwnedBy, requestsToOwner } from "../controls.ts";
import { byAge, isOfTemplate, olderThan, surplusOf } from "./deployment-sets.ts";
import { statusOf, untilDeadline } from "./deployment-status.ts";
import { rolloutSteps } from "./rollout.ts";
import { createSet, dropSets, noteDesired, renewRevision, scaleSet } from "./set-writes.ts";

/** Keeps the ReplicaSets of each Deployment and rolls out new templates. */
export function deploymentController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const deployments = mirrors.of(DEPLOYMENT);
  const sets = mirrors.of(REPLICA_SET);
  const parts = { ...deps, recorder: createPartRecorder(deps, "deployment-controller") };
  podMirror(mirrors);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const deployment = deployments.get(`${namespace}/${name}`);
    if (deployment === undefined) return AWAIT_CHANGE;
    if (deployment.metadata.deletionTimestamp !== undefined) return report(deployment);
    const owned = setsOf(deployment);
    let current = owned.find((set) => isOfTemplate(set, deployment));
    const paused = deployment.spec.paused === true;
    if (current === undefined && !paused && mayCreate(deps, deployment, owned)) {
      current = await createSet(parts, deployment, owned);
    }
    if (current !== undefined) current = await renewRevision(parts, deployment, current, owned);
    const steps = rolloutSteps(deployment, current, olderThan(current, setsOf(deployment)));
    for (const step of steps) await scaleSet(parts, deployment, step);
    await noteDesired(parts, deployment, setsOf(deployment));
    await dropSets(parts, surplusOf(deployment, current, setsOf(deployment)));
    return report(deployment);
  }

  /** The ReplicaSets of a Deployment, including writes of the same reconcile. */
  function setsOf({ metadata: { uid, namespace } }: Deployment): readonly ReplicaSet[] {
    return sets
      .list()
      .filter((set) => set.metadata.namespace === namespace && controllerOf(set)?.uid === uid)
      .sort(byAge);
  }

  async function report({ metadata: { namespace, name } }: Deployment): Promise<Outcome> {
    const deployment = deployments.get(`${namespace}/${name}`);
    if (deployment === undefined) return AWAIT_CHANGE;
    const now = clock.now();
    const status = statusOf(deployment, setsOf(deployment), now);
    await patchObject(kube, DEPLOYMENT, deployment, { ...deployment, status } as Deployment);
    return untilDeadline(deployment, status.conditions, now);
  }

  function deploymentOf(pod: Pod): readonly Request[] {
    const owner = controllerOf(pod);
    if (owner?.kind !== "ReplicaSet") return [];
    const set = sets.get(`${pod.metadata.namespace}/${owner.name}`);
    return set === undefined ? [] : requestsToOwner("Deployment")(set);
  }

  return {
    name: "deployment",
    watches: [
      source(DEPLOYMENT),
      source(REPLICA_SET, requestsToOwner("Deployment")),
      // The strategy Recreate waits until the last old pod is deleted.
      source(POD, (pod, event) => (event === "removed" ? deploymentOf(pod) : [])),
    ],
    concurrency: 8,
    reconcile,
  };
}

/**
 * Whether new pods may be created. With the strategy Recreate, all old pods must be gone, including
 * terminating ones.
 */
function mayCreate(deps: PartDeps, deployment: Deployment, owned: readonly ReplicaSet[]): boolean {
  if (deployment.spec.strategy?.type !== "Recreate") return true;
  return owned.every(
    (set) => (set.spec.replicas ?? 0) === 0 && podsOwnedBy(deps, set).every(isTerminal),
  );
}

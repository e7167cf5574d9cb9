/**
 * Moves pods without downtime from a node that is being drained: a new pod runs elsewhere before the old one ends. A
 * pod with the annotation `karpenter.sh/zero-downtime` is not evicted. Its Deployment is restarted, and the node waits
 * for a limited time until the pod has ended. Pods for which that is not possible are evicted, with an event that says
 * why. The rule is in core/termination/surge.ts. Only Deployments in the namespaces of `--surge-namespaces` are
 * patched.
 */
import { DEPLOYMENT, type Deployment } from "../apis/apps/kinds.ts";
import type { Node } from "../apis/core/node.ts";
import type { Pod } from "../apis/core/pod.ts";
import { doNotDisrupt, hasDoNotDisrupt } from "../apis/core/pod-predicates.ts";
import { SURGED_AT_ANNOTATION_KEY } from "../apis/karpenter/labels.ts";
import { fromRfc3339, toRfc3339 } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { mustDelete } from "../core/termination/drain.ts";
import { asksToSurge, type Surge, surgeOf, type Workloads } from "../core/termination/surge.ts";
import { isConflict, isForbidden, isNotFound, tryEach } from "../kube/errors.ts";
import type { EventToPublish } from "../kube/events/events.ts";
import { earlierNow } from "./ending/two-clocks.ts";
import { deployments, volumeClaims } from "./mirrors.ts";
import type { World } from "./world.ts";

type Reads = Pick<World, "mirrors" | "settings">;

/** How the pod is moved. The result is `none` for all pods if moves without downtime are off. */
export function surge(world: Reads, pod: Pod): Surge {
  if (world.settings.surgeTimeoutMs === 0) return { kind: "none" };
  return surgeOf(pod, workloadsOf(world));
}

/** Deployments whose pods are to be moved without downtime, as their annotation requests. */
export function surging(world: Reads): readonly Deployment[] {
  if (world.settings.surgeTimeoutMs === 0) return [];
  return deployments(world).each().filter(asksToSurge);
}

function workloadsOf(world: Reads): Workloads {
  return {
    surgeNamespaces: world.settings.surgeNamespaces,
    deployment: (key) => deployments(world).get(key),
    volumeClaim: (key) => volumeClaims(world).get(key),
  };
}

/**
 * Remembers when each pod could last not be moved yet, because of do-not-disrupt or because other pods come first. No
 * object shows this later: the annotation may be removed, and the order is not recorded. Pods that could be moved for
 * longer than the surge timeout are dropped.
 */
export class HeldPods {
  /** When each pod was last seen to be held back, by pod UID. The oldest entries come first. */
  readonly #seenMs = new Map<string, number>();

  note({ metadata }: Pod, nowMs: number, forgetAfterMs: number): void {
    for (const [uid, seenMs] of this.#seenMs) {
      if (nowMs - seenMs <= forgetAfterMs) break;
      this.#seenMs.delete(uid);
    }
    const uid = metadata.uid ?? metadata.name;
    this.#seenMs.delete(uid);
    this.#seenMs.set(uid, nowMs);
  }

  /**
   * Since when the pod may be moved, in epoch milliseconds, as far as this process knows. 0: it could always be moved.
   */
  freeSinceMs(pod: Pod, nowMs: number): number {
    const says = doNotDisrupt(pod, nowMs);
    const seenMs = this.#seenMs.get(pod.metadata.uid ?? pod.metadata.name) ?? 0;
    // A do-not-disrupt duration has an exact end, which a restart does not change.
    return says.kind === "elapsed" ? Math.max(seenMs, says.untilMs) : seenMs;
  }
}

/** A node that is being drained, its deadline, and when its pods were last held back. */
interface Leaving {
  readonly node: Node;
  readonly deadlineMs: number | undefined;
  readonly held: HeldPods;
}

/**
 * Calls `evict` with the pods of a drained node that are evicted now. For the others, a new pod is started first. If
 * that fails for one pod, it rejects at the end, and the pod is tried again.
 */
export async function surgeFirst(
  world: World,
  leaving: Leaving,
  { pods, evict }: { readonly pods: readonly Pod[]; readonly evict: (now: readonly Pod[]) => void },
): Promise<void> {
  const now: Pod[] = [];
  try {
    await tryEach(pods, async (pod) => {
      if (!(await movesByItself(world, leaving, pod))) now.push(pod);
    });
  } finally {
    evict(now);
  }
}

/** Whether the pod is not evicted now: a new pod is started first, or do-not-disrupt protects the pod. */
async function movesByItself(
  world: World,
  { node, deadlineMs, held }: Leaving,
  pod: Pod,
): Promise<boolean> {
  const nowMs = earlierNow(world);
  const found = surge(world, pod);
  if (found.kind === "none" || mustDelete(pod, deadlineMs, nowMs)) return false;
  const { surgeTimeoutMs } = world.settings;
  // A rollout would disrupt the pod in spite of its do-not-disrupt. The eviction queue must not get the pod either,
  // because it evicts without a rollout.
  if (hasDoNotDisrupt(pod, nowMs)) {
    held.note(pod, nowMs, surgeTimeoutMs);
    return true;
  }
  if (found.kind === "unable") return givesUp(world, pod, found.why);
  const deletedMs = fromRfc3339(node.metadata.deletionTimestamp) ?? nowMs;
  // The timeout starts when the pod may be moved. It applies even to a running rollout, because another program may
  // undo each rollout.
  const sinceMs = Math.max(deletedMs, held.freeSinceMs(pod, nowMs));
  if (nowMs - sinceMs > surgeTimeoutMs)
    return givesUp(world, pod, `no new pod was available within ${formatDuration(surgeTimeoutMs)}`);
  if (found.kind === "rolling") return true;
  return rollOver(world, node, pod, found.deployment);
}

function givesUp(world: World, pod: Pod, why: string): false {
  world.events.publish(notSurged(pod, why));
  return false;
}

/** Restarts the Deployment's pods, as `kubectl rollout restart` does. */
async function rollOver(
  world: World,
  node: Node,
  pod: Pod,
  deployment: Deployment,
): Promise<boolean> {
  const { name, namespace, resourceVersion } = deployment.metadata;
  const annotations = { [SURGED_AT_ANNOTATION_KEY]: toRfc3339(world.clock.now()) };
  const body = { metadata: { resourceVersion }, spec: { template: { metadata: { annotations } } } };
  try {
    await world.kube.patch(DEPLOYMENT, { name, namespace }, { type: "merge", body });
  } catch (error) {
    if (isForbidden(error))
      return givesUp(
        world,
        pod,
        `patching Deployments in namespace ${namespace} is forbidden; grant it, or take the namespace out of --surge-namespaces`,
      );
    // Another writer changed the Deployment just now, so it is tried again at the next reconcile.
    if (isConflict(error) || isNotFound(error)) return true;
    throw error;
  }
  world.log.info("rolling over a workload so that its pod leaves a node without downtime", {
    Deployment: { name, namespace },
    Pod: { name: pod.metadata.name, namespace },
    Node: { name: node.metadata.name },
  });
  world.events.publish(...surged(pod, deployment, node));
  return true;
}

/** Events on the pod and on its Deployment: the pod will be moved without downtime. */
export function surged(pod: Pod, deployment: Deployment, node: Node): readonly EventToPublish[] {
  const message = `Node ${node.metadata.name} is to go: a new pod of Deployment ${deployment.metadata.name} starts elsewhere before ${pod.metadata.name} ends`;
  return [pod, deployment].map((object) => ({
    object,
    type: "Normal",
    reason: "SurgedBeforeEviction",
    message,
    dedupeValues: [object.kind ?? "", pod.metadata.uid ?? pod.metadata.name],
  }));
}

/**
 * The event that a pod was evicted without a new pod first, although its annotation requests a move without downtime.
 */
export function notSurged(pod: Pod, why: string): EventToPublish {
  return {
    object: pod,
    type: "Warning",
    reason: "NoSurgeBeforeEviction",
    message: `Evicted without a new pod beforehand: ${why}`,
    dedupeValues: [pod.metadata.uid ?? pod.metadata.name, why],
  };
}

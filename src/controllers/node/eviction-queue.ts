/**
 * Evicts pods from nodes that are drained, with one request for each pod. After the status 429 it tries again with
 * growing delays and publishes an event on the Node. When the node's deadline is near, it deletes the pod with the
 * grace period that is left. node.termination adds the pods.
 * upstream: pkg/controllers/node/termination/terminator/eviction.go
 */
import type { Node } from "../../apis/core/node.ts";
import { isTerminal, isTerminating, POD, type Pod } from "../../apis/core/pod.ts";
import { hasDoNotDisrupt } from "../../apis/core/pod-predicates.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Logger } from "../../base/log.ts";
import { mustDelete } from "../../core/termination/drain.ts";
import { isConflict, isNotFound, isTooManyRequests, KubeError } from "../../kube/errors.ts";
import { createBell } from "../../kube/manager/bell.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { concurrency } from "../concurrency.ts";
import { earlierNow } from "../ending/two-clocks.ts";
import { pods } from "../mirrors.ts";
import type { World } from "../world.ts";
import { disrupted, evicted, failedDraining } from "./events.ts";

const BACKOFF_MS = { base: 100, max: 10_000 } as const;
const MOST_DOUBLINGS = 20;

/**
 * - `done`: nothing more to do for the pod.
 * - `accepted`: the API server accepted the eviction. The pod is kept in the queue until it is terminating. An
 *   admission webhook or an aggregated API server may accept an eviction that deletes nothing.
 * - `again`: the eviction is tried again.
 */
type Move = "done" | "accepted" | "again";

interface Waiting {
  readonly pod: Pod;
  readonly node: Node;
  readonly deadlineMs: number | undefined;
  /** After this time the eviction is no longer tried. Absent: it is tried without a limit. */
  readonly untilMs?: number | undefined;
  readonly reason: string;
  readonly isListed: boolean;
  readonly failures: number;
  /** Whether the API server has accepted an eviction of this pod. */
  readonly isAccepted: boolean;
}

/** How and why pods are evicted, with the deadline of their node. */
export interface Moving {
  readonly deadlineMs: number | undefined;
  /** After this time the pod is no longer evicted, because its node only reboots. Absent: the node will be deleted. */
  readonly untilMs?: number;
  readonly reason: string;
  /**
   * Whether the pod comes from a list of the API server, so the local copy may lack it. Its eviction is then tried once
   * for each call of `add`.
   */
  readonly isListed: boolean;
}

/** The queue of pods that are to be evicted. */
export interface EvictionQueue {
  readonly controller: Controller;
  /**
   * Adds pods of the node. A pod that is already in the queue keeps its position, and the earlier deadline counts. A
   * pod of a node that will be deleted is never treated as one of a node that only reboots.
   */
  add(node: Node, pods: readonly Pod[], options: Moving): void;
}

/**
 * Creates the queue. It evicts pods with back-off while PodDisruptionBudgets forbid it; past the deadline it deletes
 * them.
 */
export function createEvictionQueue(world: World): EvictionQueue {
  const waiting = new Map<string, Waiting>();
  const log = world.log.with({ controller: "eviction-queue" });
  const bell = createBell();
  return {
    add: (node, added, { deadlineMs, untilMs, reason, isListed }) => {
      for (const pod of added) {
        const key = keyOf(pod);
        const known = waiting.get(key);
        const same = known !== undefined && known.pod.metadata.uid === pod.metadata.uid;
        const sooner = earlier(same ? known.deadlineMs : undefined, deadlineMs);
        const failures = same ? known.failures : 0;
        const isAccepted = same && known.isAccepted;
        const isLeaving = same && known.untilMs === undefined;
        const entry = { pod, node, deadlineMs: sooner, reason, isListed, failures, isAccepted };
        waiting.set(key, isLeaving || untilMs === undefined ? entry : { ...entry, untilMs });
        if (!same || sooner !== known.deadlineMs) bell.ring(requestFor("Pod", pod));
      }
    },
    controller: {
      name: "eviction-queue",
      watches: [],
      concurrency: concurrency(world, 100, 5_000),
      listen: bell.listen,
      reconcile: (request) => reconcile(world, waiting, log, request),
    },
  };
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

async function reconcile(
  world: World,
  waiting: Map<string, Waiting>,
  log: Logger,
  request: Request,
): Promise<Outcome> {
  const key = `${request.namespace}/${request.name}`;
  const entry = waiting.get(key);
  if (entry === undefined) return AWAIT_CHANGE;
  if (entry.untilMs !== undefined && earlierNow(world) >= entry.untilMs) {
    waiting.delete(key);
    return AWAIT_CHANGE;
  }
  const mirrored = pods(world).get(key);
  const seen = mirrored?.metadata.uid === entry.pod.metadata.uid ? mirrored : undefined;
  const pod = seen ?? (entry.isListed ? entry.pod : undefined);
  const result = pod === undefined ? "done" : await move(world, log, entry, pod);
  // The local copy does not have the pod. The next list shows whether the pod still exists.
  if (result === "done" || seen === undefined) {
    waiting.delete(key);
    return AWAIT_CHANGE;
  }
  const isAccepted = result === "accepted";
  const doublings = isAccepted ? MOST_DOUBLINGS : Math.min(entry.failures, MOST_DOUBLINGS);
  const delayMs = Math.min(BACKOFF_MS.max, BACKOFF_MS.base * 2 ** doublings);
  waiting.set(key, { ...entry, isAccepted, failures: entry.failures + 1 });
  return requeueAfter(delayMs);
}

async function move(world: World, log: Logger, entry: Waiting, pod: Pod): Promise<Move> {
  const nowMs = earlierNow(world);
  if (mustDelete(pod, entry.deadlineMs, nowMs)) return remove(world, log, entry, pod, nowMs);
  if (isTerminal(pod) || isTerminating(pod)) return "done";
  // The pod is not evicted: it finishes by itself, or is deleted at the deadline.
  if (hasDoNotDisrupt(pod, nowMs)) return "again";
  return evict(world, entry, pod);
}

async function remove(
  world: World,
  log: Logger,
  { deadlineMs = 0, reason }: Waiting,
  pod: Pod,
  nowMs: number,
): Promise<"done"> {
  const graceSeconds = Math.max(Math.floor((deadlineMs - nowMs) / 1_000), 1);
  const { name, namespace, uid, deletionGracePeriodSeconds: given } = pod.metadata;
  // The pod was already deleted with this grace period and still exists, because its kubelet does not answer.
  if (isTerminating(pod) && given !== undefined && given <= graceSeconds) return "done";
  try {
    await world.kube.delete(
      POD,
      { name, namespace },
      {
        gracePeriodSeconds: graceSeconds,
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      },
    );
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    return "done";
  }
  log.debug("deleting pod", { Pod: { name, namespace }, "grace-period": graceSeconds });
  world.events.publish(disrupted(pod, deadlineMs, graceSeconds));
  world.metrics.count("pods_drained_total", { reason });
  return "done";
}

async function evict(world: World, { node, reason, isAccepted }: Waiting, pod: Pod): Promise<Move> {
  const { name, namespace, uid } = pod.metadata;
  const count = (code: number): void =>
    world.metrics.count("pods_eviction_requests_total", { code: String(code) });
  try {
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    await world.kube.evict({ name, namespace }, preconditions);
  } catch (error) {
    if (error instanceof KubeError) count(error.status);
    if (isNotFound(error) || isConflict(error)) return "done";
    const refused = refusalOf(error);
    if (refused === undefined) throw error;
    world.events.publish(failedDraining(node, `evicting pod "${keyOf(pod)}" ${refused}`));
    return "again";
  }
  count(200);
  if (isAccepted) {
    const what = `evicting pod "${keyOf(pod)}" is accepted and does not delete it, look at the webhooks for pods/eviction`;
    world.events.publish(failedDraining(node, what));
    return "accepted";
  }
  world.events.publish(evicted(pod, reason));
  world.metrics.count("pods_drained_total", { reason });
  return "accepted";
}

/** Why the eviction API refused the eviction for now. Undefined: it failed for another reason. */
function refusalOf(error: unknown): string | undefined {
  if (isTooManyRequests(error)) return "violates a PDB";
  const several =
    error instanceof KubeError &&
    error.status === 500 &&
    (error.body?.message ?? "").includes("more than one PodDisruptionBudget");
  return several ? "eviction does not support multiple PDBs" : undefined;
}

/**
 * Writes deletion costs on pods, one request for each pod. A pod that changed or is gone is skipped, and the next pass
 * checks it again. So a deletion cost that a user has set meanwhile is not overwritten.
 * upstream: pkg/controllers/pod/deletioncost/queue.go
 */
import { POD, type Pod } from "../../apis/core/pod.ts";
import { MANAGED_DELETION_COST_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import { keyOf } from "../../apis/meta.ts";
import type { CostChange } from "../../core/disruption/deletion-cost.ts";
import {
  DELETION_COST_ANNOTATION,
  hasUsersDeletionCost,
  managedDeletionCost,
} from "../../core/disruption/eviction-cost.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import { createBell } from "../../kube/manager/bell.ts";
import { AWAIT_CHANGE, type Controller, requestFor } from "../../kube/manager/controller.ts";
import { concurrency } from "../concurrency.ts";
import { pods } from "../mirrors.ts";
import type { World } from "../world.ts";

const BACKOFF_MS = { base: 100, max: 10_000 } as const;

/** A changed deletion cost. The node and NodePool of the pod are for the metric. */
export interface Write extends CostChange {
  readonly node: string;
  readonly nodepool: string;
}

/** Deletion costs that are to be written. */
export interface WriteQueue {
  readonly controller: Controller;
  /** Adds changes to the queue. A later change of a pod replaces an earlier one. */
  add(writes: readonly Write[]): void;
}

type Result = "updated" | "skipped_unchanged" | "skipped_notfound" | "skipped_conflict" | "error";

/** Creates the queue with the controller that writes its changes. */
export function createWriteQueue(world: World): WriteQueue {
  const waiting = new Map<string, Write>();
  const bell = createBell();
  const shown = new Set<string>();
  world.metrics.read("pod_deletion_cost_nodes_with_pending_annotation_writes", () => {
    const nodes = new Map<string, Set<string>>([...shown].map((pool) => [pool, new Set()]));
    for (const { node, nodepool } of waiting.values()) {
      shown.add(nodepool);
      nodes.set(nodepool, (nodes.get(nodepool) ?? new Set()).add(node));
    }
    return [...nodes].map(([nodepool, names]) => ({ labels: { nodepool }, value: names.size }));
  });
  const count = (result: Result): void =>
    world.metrics.count("pod_deletion_cost_pod_annotation_writes_total", { result });
  return {
    add: (writes) => {
      for (const one of writes) {
        waiting.set(keyOf(one.pod), one);
        bell.ring(requestFor("Pod", one.pod));
      }
    },
    controller: {
      name: "pod.deletioncost.queue",
      watches: [],
      concurrency: concurrency(world, 100, 5_000),
      backoffMs: BACKOFF_MS,
      listen: bell.listen,
      reconcile: async ({ namespace, name }) => {
        const key = `${namespace}/${name}`;
        const wanted = waiting.get(key);
        if (wanted === undefined) return AWAIT_CHANGE;
        try {
          count(await write(world, wanted));
        } catch (error) {
          count("error");
          throw error;
        }
        if (waiting.get(key) === wanted) waiting.delete(key);
        return AWAIT_CHANGE;
      },
    },
  };
}

async function write(world: World, { pod: asked, cost }: Write): Promise<Result> {
  const pod = pods(world).get(keyOf(asked));
  if (pod === undefined || pod.metadata.uid !== asked.metadata.uid) return "skipped_notfound";
  if (hasUsersDeletionCost(pod) || managedDeletionCost(pod) === cost) return "skipped_unchanged";
  try {
    await world.kube.patch(POD, refOf(pod), { type: "merge", body: bodyOf(pod, cost) });
    return "updated";
  } catch (error) {
    if (isConflict(error)) return "skipped_conflict";
    if (isNotFound(error)) return "skipped_notfound";
    throw error;
  }
}

function refOf({ metadata: { name, namespace } }: Pod) {
  return { name, namespace };
}

/**
 * The patch that sets or removes the cost. The API server refuses it if the pod has changed, because a user may have
 * set a cost.
 */
function bodyOf({ metadata: { resourceVersion, uid } }: Pod, cost: string | undefined): object {
  const value = cost ?? null;
  const annotations = {
    [DELETION_COST_ANNOTATION]: value,
    [MANAGED_DELETION_COST_ANNOTATION_KEY]: value,
  };
  return { metadata: { uid, resourceVersion, annotations } };
}

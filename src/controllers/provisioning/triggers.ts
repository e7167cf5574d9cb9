/**
 * What requests a planning pass: a pod that cannot be placed, and a node that is cordoned by a taint or deleted. Each
 * requests another pass every ten seconds while that lasts.
 * upstream: pkg/controllers/provisioning/controller.go
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import { isProvisionable, POD } from "../../apis/core/pod.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { TERMINATION_FINALIZER } from "../../apis/karpenter/labels.ts";
import type { Kind } from "../../apis/meta.ts";
import { isCordoned } from "../../core/state/cordon.ts";
import { hasFinalizer } from "../../kube/client/finalizer.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Request,
  requestFor,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { claimOfNode, isDeleting, nodeGeneration } from "../claims.ts";
import { isDeletedNow } from "../ending/deletions.ts";
import { HELD_RETRY_MS } from "../ending/ended.ts";
import { nodes, pods } from "../mirrors.ts";
import type { World } from "../world.ts";
import type { Batcher } from "./batcher.ts";
import type { PodTimes } from "./pod-times.ts";
import { readPodAhead } from "./read-ahead.ts";

/** A pod without a place requests a new pass after this time. */
const RETRY_MS = 10_000;

/**
 * The controller `provisioner.trigger.pod`. It requests a pass for each pending pod for which kube-scheduler found no
 * node, unless the pod belongs to a DaemonSet or waits for preemption (`isProvisionable`).
 */
export function podTrigger(world: World, batcher: Batcher, times: PodTimes): Controller {
  return {
    name: "provisioner.trigger.pod",
    watches: [
      source(POD, (pod, event): readonly Request[] => {
        if (event === "removed") times.forget(pod);
        if (event === "removed" || !isProvisionable(pod)) return [];
        times.acknowledge(pod);
        return [requestFor("Pod", pod)];
      }),
    ],
    concurrency: 10,
    reconcile: async ({ namespace, name }) => {
      const pod = pods(world).get(`${namespace}/${name}`);
      if (pod === undefined || !isProvisionable(pod)) return AWAIT_CHANGE;
      batcher.trigger(pod.metadata.uid ?? name);
      readPodAhead(world, pod);
      return requeueAfter(RETRY_MS);
    },
  };
}

/**
 * Whether the node is really being deleted. For nodes that are not Karpenter's the API server is read, because the
 * local copy may be wrong. node.termination does the same for Karpenter's own nodes.
 */
async function isProvenToLeave(world: World, node: Node): Promise<boolean> {
  if (!isDeleting(node) || hasFinalizer(node, TERMINATION_FINALIZER)) return true;
  return isDeletedNow(world, NODE as Kind, node);
}

/**
 * The controller `provisioner.trigger.node`, which requests a pass when a node is cordoned by a taint or deleted. Its
 * pods need other nodes.
 */
export function nodeTrigger(world: World, batcher: Batcher): Controller {
  return {
    name: "provisioner.trigger.node",
    watches: [source(NODE)],
    concurrency: 10,
    reconcile: async ({ name }) => {
      const node = nodes(world).get(name);
      if (node === undefined) return AWAIT_CHANGE;
      const words = vocabulary(nodeGeneration(node, claimOfNode(world, node)));
      const leaving = isDeleting(node) || (words.cordon.by === "taint" && isCordoned(node, words));
      if (!leaving) return AWAIT_CHANGE;
      if (!(await isProvenToLeave(world, node))) return requeueAfter(HELD_RETRY_MS);
      batcher.trigger(node.metadata.uid ?? name);
      return requeueAfter(RETRY_MS);
    },
  };
}

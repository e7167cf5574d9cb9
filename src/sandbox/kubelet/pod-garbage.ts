/**
 * The pod garbage collector. Pods of a node that does not exist are deleted after a quarantine, because no kubelet
 * will report that they stopped.
 */
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { deleteIfThere } from "../../kube/client/delete-if-there.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { type PartDeps, PODS_BY_NODE, podMirror } from "../parts.ts";

/** How long a pod may stay after its node is gone. upstream: pkg/controller/podgc */
const QUARANTINE_MS = 40_000;

/** Deletes pods whose node is gone. upstream: pkg/controller/podgc of Kubernetes. */
export function podGarbageController(deps: PartDeps): Controller {
  const { clock, kube, mirrors, trace } = deps;
  const pods = podMirror(mirrors);
  const nodes = mirrors.of(NODE);
  const missingSince = new Map<string, number>();

  async function reconcile({ name }: Request): Promise<Outcome> {
    const orphans = pods.byIndex(PODS_BY_NODE, name);
    if (nodes.get(name) !== undefined || orphans.length === 0) {
      missingSince.delete(name);
      return AWAIT_CHANGE;
    }
    const sinceMs = missingSince.get(name) ?? clock.now();
    missingSince.set(name, sinceMs);
    const dueMs = sinceMs + QUARANTINE_MS;
    if (clock.now() < dueMs) return requeueAfter(dueMs - clock.now());
    for (const pod of orphans) {
      const { namespace, uid } = pod.metadata;
      await deleteIfThere(kube, POD, pod, {
        gracePeriodSeconds: 0,
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      });
      trace?.({
        atMs: clock.now(),
        actor: "pod-garbage-collector",
        verb: "deleted",
        object: `pod ${namespace}/${pod.metadata.name}`,
        what: `node ${name} is gone`,
      });
    }
    return AWAIT_CHANGE;
  }

  return {
    name: "pod-garbage-collector",
    watches: [
      source(NODE, (node, event) =>
        event === "removed" ? [{ kind: "Node", name: node.metadata.name }] : [],
      ),
      source(POD, (pod, event) => {
        const name = pod.spec.nodeName;
        if (event === "removed" || name === undefined || nodes.get(name) !== undefined) return [];
        return [{ kind: "Node", name }];
      }),
    ],
    concurrency: 4,
    reconcile,
  };
}

/**
 * Taint eviction. A pod that does not tolerate a NoExecute taint of its node is deleted, at once or after the
 * shortest of its `tolerationSeconds`. By default pods tolerate not-ready and unreachable nodes for five minutes:
 * the API server adds these tolerations on creation.
 */
import { NODE, type Node, type Taint } from "../../apis/core/node.ts";
import { POD, type Pod, type Toleration } from "../../apis/core/pod.ts";
import { tolerates } from "../../apis/core/tolerations.ts";
import { keyOf } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { deleteIfThere } from "../../kube/client/delete-if-there.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps, PODS_BY_NODE, podMirror, subject } from "../parts.ts";
import { NOT_READY_TAINT_KEY, UNREACHABLE_TAINT_KEY } from "./join.ts";

const DEFAULT_TOLERATION_S = 300;
const DEFAULTED_KEYS = [NOT_READY_TAINT_KEY, UNREACHABLE_TAINT_KEY];

/**
 * Evicts pods that do not tolerate a NoExecute taint, after their tolerationSeconds. upstream:
 * pkg/controller/tainteviction of Kubernetes.
 */
export function taintEvictionController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const pods = podMirror(mirrors);
  const nodes = mirrors.of(NODE);
  const recorder = createPartRecorder(deps, "taint-eviction-controller");

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const pod = pods.get(`${namespace}/${name}`);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return AWAIT_CHANGE;
    const node = nodes.get(pod.spec.nodeName ?? "");
    if (node === undefined) return AWAIT_CHANGE;
    const dueMs = evictionDueMs(pod, noExecuteTaints(node), clock.now());
    if (dueMs === undefined) return AWAIT_CHANGE;
    if (dueMs > clock.now()) return requeueAfter(dueMs - clock.now());
    recorder.publish({
      object: subject(POD, pod),
      type: "Normal",
      reason: "TaintManagerEviction",
      message: `Marking for deletion Pod ${keyOf(pod)}`,
    });
    await deleteIfThere(kube, POD, pod);
    return AWAIT_CHANGE;
  }

  function requestsOf(node: Node, before: Node | undefined): Request[] {
    const taints = noExecuteTaints(node);
    if (taints.length === 0) return [];
    if (before !== undefined && before.spec?.taints === node.spec?.taints) return [];
    return pods.byIndex(PODS_BY_NODE, node.metadata.name).map((pod) => requestFor("Pod", pod));
  }

  return {
    name: "taint-eviction",
    watches: [
      source(NODE, (node, event, before) => (event === "removed" ? [] : requestsOf(node, before))),
      source(POD, (pod, event, before) => {
        const nodeName = pod.spec.nodeName;
        if (event === "removed" || nodeName === undefined) return [];
        if (before?.spec.nodeName === nodeName) return [];
        const node = nodes.get(nodeName);
        return node === undefined || noExecuteTaints(node).length === 0
          ? []
          : [requestFor("Pod", pod)];
      }),
    ],
    concurrency: 16,
    reconcile,
  };
}

function noExecuteTaints(node: Node): readonly Taint[] {
  return (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

/** When the pod must be deleted, in epoch milliseconds. Undefined: it may stay. */
function evictionDueMs(pod: Pod, taints: readonly Taint[], nowMs: number): number | undefined {
  let dueMs: number | undefined;
  const earlier = (ms: number): void => {
    dueMs = dueMs === undefined ? ms : Math.min(dueMs, ms);
  };
  for (const taint of taints) {
    const matching = tolerationsOf(pod, taint);
    if (matching.length === 0) {
      earlier(nowMs);
      continue;
    }
    const seconds = matching.flatMap((one) =>
      one.tolerationSeconds === undefined ? [] : [Math.max(0, one.tolerationSeconds)],
    );
    if (seconds.length === 0) continue;
    earlier((fromRfc3339(taint.timeAdded) ?? nowMs) + Math.min(...seconds) * 1_000);
  }
  return dueMs;
}

function tolerationsOf(pod: Pod, taint: Taint): readonly Toleration[] {
  const matching = (pod.spec.tolerations ?? []).filter((one) => tolerates([one], taint));
  if (matching.length > 0 || !DEFAULTED_KEYS.includes(taint.key)) return matching;
  const { key } = taint;
  return [{ key, operator: "Exists", tolerationSeconds: DEFAULT_TOLERATION_S }];
}

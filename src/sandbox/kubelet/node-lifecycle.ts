/**
 * The node lifecycle controller. A node whose kubelet is silent becomes `Ready=Unknown`. The taints not-ready
 * and unreachable follow the condition Ready. A node that never had a Lease never counts as silent.
 */
import { NODE, type Node, type Taint } from "../../apis/core/node.ts";
import { POD, type TaintEffect } from "../../apis/core/pod.ts";
import type { Condition } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import type { NodeLeases } from "../node-leases.ts";
import { createPartRecorder, PODS_BY_NODE, podMirror, subject } from "../parts.ts";
import { NOT_READY_TAINT_KEY, readiness, UNREACHABLE_TAINT_KEY } from "./join.ts";
import { NODE_MONITOR_GRACE_MS } from "./lease.ts";
import type { Kubelets } from "./machines.ts";

/** Marks silent nodes as Unknown and taints them. upstream: pkg/controller/nodelifecycle of Kubernetes. */
export function nodeLifecycleController(kubelets: Kubelets, leases: NodeLeases): Controller {
  const { clock, kube, mirrors } = kubelets.deps;
  const nodes = mirrors.of(NODE);
  const recorder = createPartRecorder(kubelets.deps, "node-controller");

  async function reconcile({ name }: Request): Promise<Outcome> {
    const node = nodes.get(name);
    if (node === undefined) return AWAIT_CHANGE;
    const now = clock.now();
    const renewed = leases.renewedMs(name);
    const silent = renewed !== undefined && now - renewed > NODE_MONITOR_GRACE_MS;
    const judged = silent ? withUnknown(node, now) : node;
    await patchObject(kube, NODE, node, withReadinessTaints(judged, now));
    if (judged !== node) {
      await markPodsNotReady(name);
      recorder.publish({
        object: subject(NODE, node),
        type: "Normal",
        reason: "NodeNotReady",
        message: `Node ${name} status is now: NodeNotReady`,
      });
    }
    if (renewed === undefined || silent) return AWAIT_CHANGE;
    return requeueAfter(Math.max(1, renewed + NODE_MONITOR_GRACE_MS + 1 - now));
  }

  /** Pods of a silent node count as not ready: budgets and Services must not rely on them. */
  async function markPodsNotReady(nodeName: string): Promise<void> {
    for (const pod of podMirror(mirrors).byIndex(PODS_BY_NODE, nodeName)) {
      const conditions = pod.status?.conditions ?? [];
      if (!conditions.some(({ type, status }) => type === "Ready" && status === "True")) continue;
      const lastTransitionTime = toRfc3339(clock.now());
      const next = conditions.map((one) =>
        one.type === "Ready" ? { ...one, status: "False" as const, lastTransitionTime } : one,
      );
      await patchObject(kube, POD, pod, { ...pod, status: { ...pod.status, conditions: next } });
      recorder.publish({
        object: subject(POD, pod),
        type: "Warning",
        reason: "NodeNotReady",
        message: "Node is not ready",
      });
    }
  }

  return {
    name: "node-lifecycle",
    watches: [source(NODE)],
    // Only the creation of a Lease starts a reconcile. Renewals are read when the grace period is over.
    listen: (ask) => leases.onCreated((name) => ask({ kind: "Node", name })),
    concurrency: 32,
    reconcile,
  };
}

/** The node with all conditions Unknown; the same object if Ready is Unknown already. */
function withUnknown(node: Node, nowMs: number): Node {
  const conditions = node.status?.conditions ?? [];
  if (readiness(node)?.status === "Unknown") return node;
  const unknown = conditions.map((condition): Condition => {
    if (condition.status === "Unknown") return condition;
    return {
      ...condition,
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
      lastTransitionTime: toRfc3339(nowMs),
    };
  });
  return { ...node, status: { ...node.status, conditions: unknown } };
}

const EFFECTS: readonly TaintEffect[] = ["NoSchedule", "NoExecute"];

/** The node with the taint that its condition Ready demands, and without the other one. */
function withReadinessTaints(node: Node, nowMs: number): Node {
  const status = readiness(node)?.status;
  const wantedKey =
    status === "False"
      ? NOT_READY_TAINT_KEY
      : status === "Unknown"
        ? UNREACHABLE_TAINT_KEY
        : undefined;
  const taints = node.spec?.taints ?? [];
  const kept = taints.filter(
    ({ key }) =>
      key === wantedKey || (key !== NOT_READY_TAINT_KEY && key !== UNREACHABLE_TAINT_KEY),
  );
  const missing: Taint[] = [];
  for (const effect of wantedKey === undefined ? [] : EFFECTS) {
    if (kept.some((taint) => taint.key === wantedKey && taint.effect === effect)) continue;
    missing.push({ key: wantedKey as string, effect, timeAdded: toRfc3339(nowMs) });
  }
  if (missing.length === 0 && kept.length === taints.length) return node;
  const { taints: _, ...spec } = node.spec ?? {};
  const next = [...kept, ...missing];
  return { ...node, spec: next.length === 0 ? spec : { ...spec, taints: next } };
}

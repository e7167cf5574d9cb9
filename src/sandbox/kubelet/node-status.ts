/**
 * Reports the status of each simulated node: Ready after the boot. Heartbeats are renewals of the Lease, so the Node
 * itself is not written again and again.
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import { createdAtMs } from "../../apis/meta.ts";
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
import { createPartRecorder, subject } from "../parts.ts";
import { createLease, isNodeReady, nodeConditions } from "./join.ts";
import { staysUnhealthy } from "./kwok-stage.ts";
import type { Kubelets } from "./machines.ts";

/** Creates the Lease if it is missing, and reports Ready after the boot. */
export function nodeStatusController(kubelets: Kubelets, leases: NodeLeases): Controller {
  const { clock, kube, mirrors, trace } = kubelets.deps;
  const nodes = mirrors.of(NODE);
  const recorder = createPartRecorder(kubelets.deps, "kubelet");

  async function reconcile({ name }: Request): Promise<Outcome> {
    const node = nodes.get(name);
    if (node === undefined || !kubelets.runs(node)) return AWAIT_CHANGE;
    if (node.metadata.deletionTimestamp === undefined) {
      if (!leases.has(name)) await createLease(kubelets.deps, node);
    }
    if (isNodeReady(node) || staysUnhealthy(node)) return AWAIT_CHANGE;
    const readyMs = kubelets.readyMs(name);
    if (readyMs === "never") return AWAIT_CHANGE;
    const dueMs = createdAtMs(node) + readyMs;
    if (clock.now() < dueMs) return requeueAfter(dueMs - clock.now());
    await patchObject(kube, NODE, node, withReady(node, clock.now()));
    recorder.publish({
      object: subject(NODE, node),
      type: "Normal",
      reason: "NodeReady",
      message: `Node ${name} status is now: NodeReady`,
    });
    trace?.({
      atMs: clock.now(),
      actor: "kubelet",
      verb: "ready",
      object: `node ${name}`,
      what: "",
    });
    return AWAIT_CHANGE;
  }

  return {
    name: "kubelet.node",
    watches: [source(NODE)],
    concurrency: 32,
    reconcile,
  };
}

/** The node with the kubelet's conditions. Conditions of other programs stay. */
function withReady(node: Node, nowMs: number): Node {
  const ours = nodeConditions(true, nowMs);
  const types = new Set(ours.map(({ type }) => type));
  const others = (node.status?.conditions ?? []).filter(({ type }) => !types.has(type));
  return { ...node, status: { ...node.status, conditions: [...ours, ...others] } };
}

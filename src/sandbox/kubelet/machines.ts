/**
 * All simulated machines of a cluster: which of them run, and the settings of their kubelets. The kubelet of a
 * stopped machine is silent: it neither renews its Lease nor stops its pods. The node lifecycle controller and the
 * pod garbage collector handle its Node and pods.
 */

import { NODE, type Node } from "../../apis/core/node.ts";
import type { Timer } from "../../base/clock.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { PartDeps } from "../parts.ts";
import {
  bootIdOf,
  DEFAULT_JOIN_MS,
  DEFAULT_READY_MS,
  type InstanceNode,
  nodeConditions,
  registerNode,
} from "./join.ts";
import { PodLogs } from "./pod-logs.ts";

/** Options of the simulated kubelets: which Nodes have one, and how long its work takes. */
export interface KubeletOptions {
  /** Whether a Node has a simulated kubelet. Default: by the scheme of its providerID, or by label. */
  readonly isSimulated?: (node: Node) => boolean;
  /** Milliseconds from the moment a kubelet sees a bound pod until its containers run. Default 2 s. */
  readonly podStartMs?: number;
  /** Milliseconds that a container takes to stop. Default 1 s, and never more than the grace period. */
  readonly podStopMs?: number;
  /** Milliseconds from the end of an instance until the cloud controller removes its Node. Default 30 s. */
  readonly nodeRemovalMs?: number;
}

const SIMULATED_LABEL = "karpenter-ts.sandbox/kubelet";
const SIMULATED_SCHEMES = ["aws://", "kwok://"];
const JOIN_RETRY_MS = 1_000;
/**
 * Milliseconds from the request to reboot until the kubelet is back. It is shorter than the grace period after
 * which a node counts as silent.
 */
const REBOOT_MS = 30_000;
const DEFAULT_REMOVAL_MS = 30_000;

/** Whether the Node is of the simulated AWS or of kwok, or has the label. This is the default of `isSimulated`. */
function isSimulatedNode(node: Node): boolean {
  const providerID = node.spec?.providerID ?? "";
  return (
    SIMULATED_SCHEMES.some((scheme) => providerID.startsWith(scheme)) ||
    node.metadata.labels?.[SIMULATED_LABEL] !== undefined
  );
}

/** The simulated machines of a cluster. */
export class Kubelets {
  readonly deps: PartDeps;
  readonly options: Required<KubeletOptions>;
  readonly logs: PodLogs;
  readonly #joining = new Map<string, Timer>();
  readonly #specs = new Map<string, InstanceNode>();
  readonly #stopped = new Set<string>();
  readonly #reboots = new Map<string, number>();

  constructor(deps: PartDeps, options: KubeletOptions = {}) {
    this.deps = deps;
    this.options = {
      isSimulated: options.isSimulated ?? isSimulatedNode,
      podStartMs: options.podStartMs ?? 2_000,
      podStopMs: options.podStopMs ?? 1_000,
      nodeRemovalMs: options.nodeRemovalMs ?? DEFAULT_REMOVAL_MS,
    };
    this.logs = new PodLogs();
  }

  /** Call when a machine was launched. Its Node is registered after the join delay. */
  join(spec: InstanceNode): void {
    this.#stopped.delete(spec.name);
    this.#specs.set(spec.name, spec);
    this.#joining.get(spec.name)?.cancel();
    this.#register(spec, spec.joinMs ?? DEFAULT_JOIN_MS);
  }

  /** Call when a machine ended. Its kubelet is silent from now on. Its Node is removed later. */
  leave(nodeName: string): void {
    this.halt(nodeName);
    this.#specs.delete(nodeName);
    this.deps.clock.after(this.options.nodeRemovalMs, () =>
      mustNotFail(this.#removeNode(nodeName), "removing a node"),
    );
  }

  /** Call when a machine was stopped. Its kubelet is silent from now on, and its Node stays. */
  halt(nodeName: string): void {
    this.#joining.get(nodeName)?.cancel();
    this.#joining.delete(nodeName);
    this.#stopped.add(nodeName);
  }

  /**
   * Call when a machine reboots. Its kubelet is silent for a while, then reports the new boot. Conditions that other
   * programs reported about the old boot are removed. They report again if the machine is still broken.
   */
  reboot(nodeName: string): void {
    this.halt(nodeName);
    const reboots = (this.#reboots.get(nodeName) ?? 0) + 1;
    this.#reboots.set(nodeName, reboots);
    this.deps.clock.after(REBOOT_MS, () =>
      mustNotFail(this.#bootAgain(nodeName, reboots), "booting a machine again"),
    );
  }

  /** Whether a kubelet acts for the Node. */
  runs(node: Node): boolean {
    return !this.#stopped.has(node.metadata.name) && this.options.isSimulated(node);
  }

  /** Milliseconds from registration until Ready. */
  readyMs(nodeName: string): number | "never" {
    return this.#specs.get(nodeName)?.readyMs ?? DEFAULT_READY_MS;
  }

  #register(spec: InstanceNode, delayMs: number): void {
    const timer = this.deps.clock.after(delayMs, () => {
      this.#joining.delete(spec.name);
      registerNode(this.deps, spec).then(
        () => this.#trace("registered", spec.name, spec.providerID),
        (error: unknown) => {
          this.deps.log.warn("registering node failed", { Node: spec.name, error: String(error) });
          if (!this.#stopped.has(spec.name)) this.#register(spec, JOIN_RETRY_MS);
        },
      );
    });
    this.#joining.set(spec.name, timer);
  }

  async #bootAgain(name: string, reboots: number): Promise<void> {
    // The machine has ended since the reboot began, or was rebooted again.
    if (!this.#specs.has(name) || this.#reboots.get(name) !== reboots) return;
    this.#stopped.delete(name);
    try {
      const node = await this.deps.kube.get(NODE, { name });
      await patchObject(
        this.deps.kube,
        NODE,
        node,
        bootedAgain(node, reboots, this.deps.clock.now()),
      );
      this.#trace("booted", name, "after a reboot");
    } catch (error) {
      if (isNotFound(error)) return;
      this.deps.log.warn("booting again failed", { Node: name, error: String(error) });
      this.deps.clock.after(JOIN_RETRY_MS, () =>
        mustNotFail(this.#bootAgain(name, reboots), "booting a machine again"),
      );
    }
  }

  /** Deletes a Node whose instance is gone, as the cloud's node controller does. */
  async #removeNode(name: string): Promise<void> {
    if (!this.#stopped.has(name)) return;
    try {
      await this.deps.kube.delete(NODE, { name });
    } catch (error) {
      if (isNotFound(error)) return;
      this.deps.log.warn("removing node failed", { Node: name, error: String(error) });
    }
  }

  #trace(verb: string, node: string, what: string): void {
    const atMs = this.deps.clock.now();
    this.deps.trace?.({ atMs, actor: "kubelet", verb, object: `node ${node}`, what });
  }
}

function bootedAgain(node: Node, reboots: number, nowMs: number): Node {
  const bootID = bootIdOf(node.spec?.providerID ?? "", reboots);
  const nodeInfo = { ...node.status?.nodeInfo, bootID };
  return { ...node, status: { ...node.status, nodeInfo, conditions: nodeConditions(true, nowMs) } };
}

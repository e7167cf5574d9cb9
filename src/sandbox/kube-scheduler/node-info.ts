/** A node as the scheduler sees it: its allocatable resources, and the requests of its bound and assumed pods. */

import { type HostPort, hostPortKey } from "../../apis/core/host-ports.ts";
import type { Node, Taint } from "../../apis/core/node.ts";
import { parseResources, type Resources } from "../../apis/resources.ts";
import { type Labels, NO_LABELS, type PodInfo } from "./pod-info.ts";

/** A node with its pods, and the sums that filters use. */
export class NodeInfo {
  readonly name: string;
  /** The Node. Undefined: pods are bound to it, but the Node itself is not in the mirror, or is deleted. */
  node: Node | undefined;
  labels: Labels = NO_LABELS;
  taints: readonly Taint[] = [];
  unschedulable = false;
  allocatable: Resources = {};
  readonly pods = new Map<string, PodInfo>();
  readonly requested: Record<string, number> = {};
  nonZeroMilliCpu = 0;
  nonZeroMemoryBytes = 0;
  readonly ports = new Map<string, HostPort & { count: number }>();

  constructor(name: string) {
    this.name = name;
  }

  setNode(node: Node | undefined): void {
    this.node = node;
    this.labels = node?.metadata.labels ?? NO_LABELS;
    this.taints = node?.spec?.taints ?? [];
    this.unschedulable = node?.spec?.unschedulable === true;
    this.allocatable = parseResources(node?.status?.allocatable);
  }

  add(pod: PodInfo): void {
    this.pods.set(pod.key, pod);
    this.#count(pod, 1);
  }

  remove(key: string): PodInfo | undefined {
    const pod = this.pods.get(key);
    if (pod === undefined) return undefined;
    this.pods.delete(key);
    this.#count(pod, -1);
    return pod;
  }

  #count(pod: PodInfo, sign: 1 | -1): void {
    for (const name in pod.requests) {
      this.requested[name] = (this.requested[name] ?? 0) + sign * (pod.requests[name] as number);
    }
    this.nonZeroMilliCpu += sign * pod.nonZero.milliCpu;
    this.nonZeroMemoryBytes += sign * pod.nonZero.memoryBytes;
    for (const port of pod.ports) {
      const id = hostPortKey(port);
      const entry = this.ports.get(id) ?? { ...port, count: 0 };
      entry.count += sign;
      if (entry.count > 0) this.ports.set(id, entry);
      else this.ports.delete(id);
    }
  }
}

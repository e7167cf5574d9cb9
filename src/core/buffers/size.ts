/**
 * How many placeholder pods a CapacityBuffer has.
 * upstream: pkg/controllers/capacitybuffer/helpers.go
 */
import type { CapacityBufferSpec } from "../../apis/autoscaling/capacity-buffer.ts";
import { parseResources, type Resources } from "../../apis/resources.ts";

/** The most pods of a buffer. More pods are probably a mistake, and every pass would plan all of them. */
const MOST_PODS = 10_000;

/** The facts about the workload of a buffer that decide the buffer's size. */
export interface Scalable {
  /** The number of pods in the spec of the workload. */
  readonly replicas: number;
}

/**
 * The number of pods of a buffer: `replicas` or the percentage of the workload's pods, whichever is larger. The
 * percentage gives at least one pod if the workload has any. `limits` bound the number. Without `replicas` and
 * percentage, `limits` alone decide. `requests`: the requests of one pod.
 */
export function wantedPods(
  spec: CapacityBufferSpec,
  requests: Resources,
  scalable?: Scalable,
): number {
  const { replicas, percentage } = spec;
  const sizes: number[] = [];
  if (replicas !== undefined) sizes.push(replicas);
  if (percentage !== undefined && scalable !== undefined)
    sizes.push(scalable.replicas > 0 ? shareOf(scalable.replicas, percentage) : 0);
  const most =
    spec.limits === undefined ? undefined : mostWithin(parseResources(spec.limits), requests);
  if (sizes.length === 0) return Math.min(most ?? 0, MOST_PODS);
  return Math.min(Math.max(...sizes), most ?? MOST_PODS, MOST_PODS);
}

/**
 * A remark about a buffer whose size may surprise its author. Undefined: there is none. `requests`: the requests of one
 * pod.
 */
export function sizeNote(
  { replicas, percentage, limits }: CapacityBufferSpec,
  requests: Resources,
): string | undefined {
  if (replicas !== undefined && replicas > MOST_PODS)
    return `spec.replicas: ${replicas} is more than the ${MOST_PODS} pods that a buffer may stand for`;
  if (limits === undefined || replicas !== undefined || percentage !== undefined) return undefined;
  if (mostWithin(parseResources(limits), requests) !== undefined) return undefined;
  const names = Object.keys(limits).sort().join(", ");
  return `spec.limits: the pods request none of ${names}, so it gives no number of pods; set spec.replicas`;
}

function shareOf(replicas: number, percentage: number): number {
  return Math.max(1, Math.ceil((replicas * percentage) / 100));
}

/** How many pods fit within the limits. Undefined: the pods request none of the limited resources. */
export function mostWithin(limits: Resources, requests: Resources): number | undefined {
  const counts = Object.entries(limits).flatMap(([name, amount]) => {
    const each = requests[name] ?? 0;
    return each > 0 ? [Math.max(0, Math.floor(amount / each))] : [];
  });
  return counts.length === 0 ? undefined : Math.min(...counts);
}

/**
 * Makes the condition Provisioning of each CapacityBuffer from the result of a planning pass.
 * upstream: pkg/controllers/provisioning/provisioner.go
 */

import type { Pod } from "../../apis/core/pod.ts";
import type { ConditionChange } from "../../apis/karpenter/conditions.ts";
import { bufferKeyOf, isBufferPod } from "./pods.ts";

/** How many pods of one buffer are on existing nodes, on new nodes, or without a place. */
interface Counts {
  onExisting: number;
  onNew: number;
  failed: number;
}

interface WithPods {
  readonly pods: readonly Pod[];
}

/** The part of a plan that says where pods are placed. */
interface Outcome {
  readonly existing: readonly WithPods[];
  readonly newClaims: readonly WithPods[];
  readonly unschedulable: readonly { readonly pod: Pod }[];
}

/** The condition of each buffer with pods in the pass, by the buffer's key. */
export function provisioningConditions(result: Outcome): ReadonlyMap<string, ConditionChange> {
  const counts = new Map<string, Counts>();
  const note = (what: keyof Counts) => (pod: Pod) => {
    if (!isBufferPod(pod)) return;
    const key = bufferKeyOf(pod);
    const known = counts.get(key) ?? { onExisting: 0, onNew: 0, failed: 0 };
    known[what]++;
    counts.set(key, known);
  };
  for (const { pods } of result.existing) pods.forEach(note("onExisting"));
  for (const { pods } of result.newClaims) pods.forEach(note("onNew"));
  for (const { pod } of result.unschedulable) note("failed")(pod);
  return new Map([...counts].map(([key, one]) => [key, conditionOf(one)]));
}

function conditionOf({ onExisting, onNew, failed }: Counts): ConditionChange {
  const type = "Provisioning";
  if (onNew + failed === 0) return { type, status: "True", reason: "FitsExistingCapacity" };
  const message = `${onNew}/${onExisting + onNew + failed} virtual pods required new capacity, ${failed} failed`;
  return { type, status: "False", reason: "RequiresNewCapacity", message };
}

/** The result without pods of buffers, for reports that are about stored pods only. */
export function withoutBufferPods<T extends Outcome>(result: T): T {
  const real = (pods: readonly Pod[]) => pods.filter((pod) => !isBufferPod(pod));
  return {
    ...result,
    existing: result.existing.map((one) => ({ ...one, pods: real(one.pods) })),
    newClaims: result.newClaims
      .map((one) => ({ ...one, pods: real(one.pods) }))
      .filter(({ pods }) => pods.length > 0),
    unschedulable: result.unschedulable.filter(({ pod }) => !isBufferPod(pod)),
  };
}

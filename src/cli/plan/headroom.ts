/**
 * CapacityBuffers in a plan: their pods, and where they are placed, separate from real pods. For a buffer of a live
 * cluster the controller's status counts; a buffer in a file is computed from the input.
 */

import type { Job, PodTemplateSpec } from "../../apis/apps/kinds.ts";
import type { CapacityBuffer, ScalableRef } from "../../apis/autoscaling/capacity-buffer.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { subtractResources } from "../../apis/resources.ts";
import { grouped } from "../../base/counted.ts";
import { shares } from "../../core/answers/costs.ts";
import { bufferKeyOf, bufferPods, isBufferPod } from "../../core/buffers/pods.ts";
import { sizeNote, wantedPods } from "../../core/buffers/size.ts";
import type { PlannedClaim, SchedulingResult } from "../../core/provisioning/result.ts";
import { admittedTemplate } from "../../core/state/admitted-template.ts";
import { PodAdmission } from "../../core/state/pod-admission.ts";
import { fillAdmission } from "./expand-workloads.ts";
import type { Manifests } from "./manifests.ts";
import { withinQuotas } from "./quotas.ts";

/** The result of a plan for one CapacityBuffer. */
export interface PlannedHeadroom {
  /** Namespace and name of the buffer. */
  readonly buffer: string;
  readonly pods: number;
  readonly placed: number;
  /** The buffer's share of the new nodes' price. Room on existing nodes costs nothing more. */
  readonly priceMicroUsdPerHour: number;
  /** Why pods of the buffer have no place. Absent: all have one. */
  readonly reason?: string;
}

type Input = Pick<Manifests, "buffers" | "podTemplates" | "workloads" | "liveWorkloads"> &
  Pick<
    Manifests,
    "volumeClaims" | "limitRanges" | "runtimeClasses" | "verticalAutoscalers" | "quotas"
  >;

/**
 * The pods of all buffers by the buffer's key, and why a buffer has none or fewer than it asks for. `others`: the other
 * pods of the input, which use up quotas first.
 */
export function headroomPods(
  manifests: Input,
  others: readonly Pod[] = [],
): {
  readonly pods: readonly Pod[];
  readonly notes: readonly string[];
} {
  const made: Pod[] = [];
  const bound = new Set(
    manifests.volumeClaims.filter(({ spec }) => spec.volumeName !== undefined).map(keyOf),
  );
  const admission = fillAdmission(new PodAdmission(), manifests);
  const notes: string[] = [];
  for (const buffer of manifests.buffers) {
    const key = keyOf(buffer);
    const source = sourceOf(manifests, buffer);
    if (typeof source === "string") {
      notes.push(`CapacityBuffer ${key} is left out: ${source}`);
      continue;
    }
    const { replicas } = source;
    const template = admittedTemplate(admission, buffer, source.template);
    const named = { ...buffer, metadata: { ...buffer.metadata, uid: key } };
    const isBound = (name: string) => bound.has(`${buffer.metadata.namespace}/${name}`);
    const [sample] = bufferPods(named, { template, count: 1, isBound }) as [Pod];
    const requests = podRequests(sample);
    const note = sizeNote(buffer.spec, requests);
    if (note !== undefined) notes.push(`CapacityBuffer ${key}: ${note}`);
    const scalable = replicas === undefined ? undefined : { replicas };
    const wanted = wantedPods(buffer.spec, requests, scalable);
    const allowed = withinQuotas(wanted, { sample, quotas: manifests.quotas, others, made });
    if (countOf(buffer) === undefined && allowed.by !== undefined)
      notes.push(
        `CapacityBuffer ${key}: ResourceQuota ${allowed.by} has room for ${grouped(allowed.count)} of ${grouped(wanted)} pods`,
      );
    const count = countOf(buffer) ?? allowed.count;
    made.push(...bufferPods(named, { template, count, isBound }));
  }
  return { pods: made, notes };
}

/** The number of pods that the controller computed within ResourceQuotas. Undefined: no controller has computed it. */
function countOf(buffer: CapacityBuffer): number | undefined {
  const isReady = condition(buffer, "ReadyForProvisioning")?.status === "True";
  return isReady ? buffer.status?.replicas : undefined;
}

interface Source {
  readonly template: PodTemplateSpec;
  /** The replicas of the workload. Absent for a PodTemplate, which has no replicas. */
  readonly replicas?: number;
}

function sourceOf(manifests: Input, { metadata, spec }: CapacityBuffer): Source | string {
  const { podTemplateRef, scalableRef } = spec;
  const isNamed = (name: string) => (one: KubeObject) =>
    one.metadata.name === name && one.metadata.namespace === metadata.namespace;
  if (podTemplateRef !== undefined) {
    const found = manifests.podTemplates.find(isNamed(podTemplateRef.name));
    return found ?? `PodTemplate ${podTemplateRef.name} is not in the input`;
  }
  if (scalableRef === undefined) return "neither spec.podTemplateRef nor spec.scalableRef is set";
  const found = [...manifests.workloads, ...manifests.liveWorkloads]
    .filter(isNamed(scalableRef.name))
    .find(({ kind, apiVersion = "" }) => isMeant(scalableRef, kind, apiVersion));
  return found === undefined
    ? `${scalableRef.kind} ${scalableRef.name} is not in the input, or a plan does not know the kind`
    : sourceFrom(found);
}

function isMeant(ref: ScalableRef, kind: string | undefined, apiVersion: string): boolean {
  return kind === ref.kind && apiVersion.split("/")[0] === (ref.apiGroup || "apps");
}

interface Workload extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly template: PodTemplateSpec };
}

function sourceFrom(workload: KubeObject): Source {
  const { spec } = workload as Workload;
  const { parallelism = 1 } = (workload as Job).spec;
  const replicas = workload.kind === "Job" ? parallelism : (spec.replicas ?? 1);
  return { template: spec.template, replicas };
}

/** The results for all buffers with pods, by key. */
export function headroomOf(result: SchedulingResult): readonly PlannedHeadroom[] {
  const found = new Map<string, PlannedHeadroom>();
  const note = (pod: Pod, more: Partial<PlannedHeadroom>) => {
    if (!isBufferPod(pod)) return;
    const buffer = bufferKeyOf(pod);
    const before = found.get(buffer) ?? { buffer, pods: 0, placed: 0, priceMicroUsdPerHour: 0 };
    const { placed = 0, priceMicroUsdPerHour: price = 0, reason = before.reason } = more;
    found.set(buffer, {
      buffer,
      pods: before.pods + 1,
      placed: before.placed + placed,
      priceMicroUsdPerHour: before.priceMicroUsdPerHour + price,
      ...(reason === undefined ? {} : { reason }),
    });
  };
  for (const { pods } of result.existing) for (const pod of pods) note(pod, { placed: 1 });
  for (const claim of result.newClaims) {
    const prices = pricesOn(claim);
    for (const pod of claim.pods)
      note(pod, { placed: 1, priceMicroUsdPerHour: prices.get(keyOf(pod)) ?? 0 });
  }
  for (const { pod, message } of result.unschedulable) note(pod, { reason: message });
  return [...found.values()].sort((a, b) => (a.buffer < b.buffer ? -1 : 1));
}

/** The share of the node's price of each buffer pod, by pod key, computed as on the dashboard. */
function pricesOn({ cheapest, instanceTypes, pods }: PlannedClaim): ReadonlyMap<string, number> {
  const type = instanceTypes.find(({ name }) => name === cheapest.instanceType);
  if (type === undefined || !pods.some(isBufferPod)) return new Map();
  const allocatable = subtractResources(type.capacity, type.overhead);
  const parts = shares({ pods, allocatable }, cheapest.priceMicroUsd);
  return new Map(
    parts.map(({ namespace, name, microUsdPerHour }) => [`${namespace}/${name}`, microUsdPerHour]),
  );
}

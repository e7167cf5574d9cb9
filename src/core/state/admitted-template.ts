/**
 * Computes the pod template of a CapacityBuffer with everything that admission by the API server would add
 * (pod-admission.ts).
 */
import type { PodTemplateSpec } from "../../apis/apps/kinds.ts";
import type { CapacityBuffer } from "../../apis/autoscaling/capacity-buffer.ts";
import type { PodAdmission } from "./pod-admission.ts";

/**
 * The template after admission. If the buffer names a workload, its pods also get the requests that a
 * VerticalPodAutoscaler recommends for that workload.
 */
export function admittedTemplate(
  admission: PodAdmission,
  { metadata: { namespace }, spec: { scalableRef } }: CapacityBuffer,
  template: PodTemplateSpec,
): PodTemplateSpec {
  const stored = admission.completed(namespace, template.spec);
  if (scalableRef === undefined) return { ...template, spec: stored };
  const { apiGroup, kind, name } = scalableRef;
  const workload = { namespace, apiVersion: `${apiGroup || "apps"}/v1`, kind, name };
  return { ...template, spec: admission.recommended(workload, stored) };
}

/** Writes the requests, rules and ports of a pod as a text. Pods with equal texts are equal for planning. */
import { hostPorts } from "../../../apis/core/host-ports.ts";
import { maxRunMs } from "../../../apis/core/max-run.ts";
import type { Pod, PodSpec } from "../../../apis/core/pod.ts";
import { isResized, podRequests } from "../../../apis/core/pod-resources.ts";
import { perTemplate } from "../../../apis/core/pod-template.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";

/**
 * The requirements of the pod beyond its template, as a text. Labels are left out, because each pod of a StatefulSet
 * has a label with its own name, unless rules refer to them by matchLabelKeys.
 */
export function besideTemplate(pod: Pod, volumeSets: readonly SetId[]): string {
  const { spec, metadata } = pod;
  let text = hasClaims(spec) ? ` claims ${volumeSets.join()} ` : "";
  const runMs = maxRunMs(pod);
  if (runMs !== undefined) text += ` run ${runMs} `;
  // During a resize, a pod's requests depend on its status, too.
  if (isResized(pod)) text += JSON.stringify([podRequests(pod), hostPorts(pod)]);
  const { affinity, topologySpreadConstraints } = spec;
  if (affinity === undefined && topologySpreadConstraints === undefined) return text;
  text += metadata.namespace;
  return goesByLabels(spec) ? text + JSON.stringify(metadata.labels) : text;
}

/** Whether the pod has matchLabelKeys or mismatchLabelKeys, which refer to its own labels. */
function asksByLabels(text: string): boolean {
  return text.includes("atchLabelKeys");
}

/** Requests, rules and ports of a spec as a text. */
export const specText = perTemplate(writtenOut);
/** Whether rules of the spec refer to labels of its own pod, by matchLabelKeys or mismatchLabelKeys. */
export const goesByLabels = perTemplate((spec) => asksByLabels(specText(spec)));

function writtenOut(spec: PodSpec): string {
  const { containers, initContainers, overhead, resources, hostNetwork } = spec;
  const { nodeSelector, affinity, tolerations, topologySpreadConstraints } = spec;
  return JSON.stringify([
    containers.map((one) => [one.resources, one.ports]),
    initContainers?.map((one) => [one.resources, one.ports, one.restartPolicy]),
    overhead,
    resources,
    hostNetwork,
    nodeSelector,
    affinity,
    tolerations,
    topologySpreadConstraints,
  ]);
}

/** Whether the pod uses a volume claim: a PersistentVolumeClaim, or one that is created for an ephemeral volume. */
export function hasClaims({ volumes }: PodSpec): boolean {
  return (
    volumes?.some((one) => (one.persistentVolumeClaim ?? one.ephemeral) !== undefined) === true
  );
}

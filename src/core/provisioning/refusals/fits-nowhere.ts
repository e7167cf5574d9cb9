/**
 * Finds pod classes (pods that are equal for planning) that no plan can place: no new or existing node satisfies their
 * requirements and has their resources, even without their preferences. So thousands of such pods do not slow down
 * planning.
 */
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { type PodClass, type PodClasses, type Variant, variantsOf } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import { admittedSet } from "../feasibility/admission.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import type { Template } from "../pools/pool-template.ts";

interface Places {
  readonly context: { readonly space: RequirementSpace };
  readonly templates: readonly Template[];
  readonly nodes: readonly ExistingNode[];
  readonly classes: Pick<PodClasses, "variant">;
}

/**
 * Removes the classes that fit nowhere from `classes`. Returns the pods of the other classes (`some`) and the removed
 * pods (`lost`). Must be called before any pod is placed.
 */
export function* withoutHopeless(
  places: Places,
  pods: readonly QueuedPod[],
  classes: Set<PodClass>,
): Steps<{ readonly some: readonly QueuedPod[]; readonly lost: readonly QueuedPod[] }> {
  const nowhere = new Set<PodClass>();
  // Classes with the same requests and rules share one variant object, so one of these classes is checked for all.
  const hopeful = new Set<Variant | undefined>();
  yield* eachInSteps([...classes], (podClass) => {
    const [asWritten] = podClass.variants;
    if (hopeful.has(asWritten)) return;
    if (fitsNowhere(places, podClass)) nowhere.add(podClass);
    else hopeful.add(asWritten);
  });
  if (nowhere.size === 0) return { some: pods, lost: [] };
  for (const podClass of nowhere) classes.delete(podClass);
  const isLost = ({ podClass }: QueuedPod) => nowhere.has(podClass);
  return { some: pods.filter((item) => !isLost(item)), lost: pods.filter(isLost) };
}

function fitsNowhere(
  { context: { space }, templates, nodes, classes }: Places,
  podClass: PodClass,
): boolean {
  for (const variant of variantsOf(classes, podClass)) {
    for (const template of templates)
      if (mayBecome(template, podClass, variant, space)) return false;
    for (const node of nodes) if (node.meetsFirstStages(podClass, variant, space)) return false;
  }
  return true;
}

/** Whether a new node of the pool could take the pod, by taints, host name and labels, and each resource alone. */
function mayBecome(
  template: Template,
  { requests }: PodClass,
  variant: Variant,
  space: RequirementSpace,
): boolean {
  return admittedSet(template, variant, space) !== undefined && template.table.hasEach(requests);
}

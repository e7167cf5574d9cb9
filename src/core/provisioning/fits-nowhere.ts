/**
 * Which classes of a batch no plan can place: whatever they give up, no pool's node could be what they ask
 * for or have as much, and none that is there is or has. It is found out once, before planning: thousands
 * of such pods then cost those beside them nothing.
 */
import { firstUntolerated } from "../../apis/core/tolerations.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { RequirementSpace } from "../scheduling/requirement-space.ts";
import type { ExistingNode } from "./existing-node.ts";
import type { PodClass, PodClasses, Variant } from "./pod-class.ts";
import type { Template } from "./pool-template.ts";

interface Places {
  readonly context: { readonly space: RequirementSpace };
  readonly templates: readonly Template[];
  readonly nodes: readonly ExistingNode[];
  readonly classes: Pick<PodClasses, "variant">;
}

/** A class that fits nowhere is held against every node. */
const CLASSES_PER_STEP = 16;

/** Those of the classes. Nothing may have been placed yet. */
export function* fittingNowhere(
  places: Places,
  classes: ReadonlySet<PodClass>,
): Steps<ReadonlySet<PodClass>> {
  const found = new Set<PodClass>();
  yield* eachInSteps([...classes], CLASSES_PER_STEP, (podClass) => {
    if (fitsNowhere(places, podClass)) found.add(podClass);
  });
  return found;
}

function fitsNowhere(
  { context: { space }, templates, nodes, classes }: Places,
  podClass: PodClass,
): boolean {
  for (let step = 0; ; step++) {
    const variant = classes.variant(podClass, step);
    if (variant === undefined) return true;
    for (const template of templates)
      if (mayBecome(template, podClass, variant, space)) return false;
    for (const node of nodes) if (node.hasWhatItTakes(podClass, variant, space)) return false;
  }
}

/** Whether a new node of the pool could be it, by taints, labels and each resource for itself. */
function mayBecome(
  { set, table, taints }: Template,
  { requests }: PodClass,
  variant: Variant,
  space: RequirementSpace,
): boolean {
  if (space.join(set, variant.set) === undefined) return false;
  if (taints.length > 0 && firstUntolerated(variant.tolerations, taints) !== undefined)
    return false;
  return table.hasEach(requests);
}

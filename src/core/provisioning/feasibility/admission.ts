/**
 * The first stages of the feasibility check for a new node: taints, host name, labels, places of volumes. Pods that are
 * placed elsewhere never change their results.
 */
import type { Taint } from "../../../apis/core/node.ts";
import { firstUntolerated } from "../../../apis/core/tolerations.ts";
import { allows, type Requirement } from "../../scheduling/requirement.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import type { Conflict } from "../../scheduling/requirements.ts";
import type { PodClass, Variant } from "../batch/pod-class.ts";

/** A planned node, or what a NodePool says about its new nodes. */
export interface Admitting {
  readonly taints: readonly Taint[];
  /** The requirements on the node's labels. */
  readonly set: SetId;
}

/** The host name of a node that does not exist yet. No pod can select it. */
const NEW_HOSTNAME = "hostname-placeholder-0000";

/** The requirements of the node if it takes the pod. Undefined: a stage refuses the pod. */
export function admittedSet(
  { taints, set }: Admitting,
  variant: Variant,
  space: RequirementSpace,
): SetId | undefined {
  if (untolerated(taints, variant) !== undefined || !acceptsNewHost(variant)) return undefined;
  return space.join(set, variant.set);
}

/** The node's requirements, narrowed to each place where all volumes of the pod can be reached. Empty: nowhere. */
export function volumePlaces(
  set: SetId,
  { volumeSets }: PodClass,
  space: RequirementSpace,
): readonly SetId[] {
  return volumeSets.length === 0 ? [set] : volumeSets.flatMap((one) => space.join(set, one) ?? []);
}

export type AdmissionRefusal =
  | { readonly stage: "taints"; readonly taint: Taint }
  | { readonly stage: "hostname"; readonly hostname: Requirement }
  | { readonly stage: "requirements"; readonly conflicts: readonly Conflict[] };

/** The stage that refuses the pod, with the cause. Undefined: no stage does, so {@link admittedSet} returns a value. */
export function admissionRefusal(
  { taints, set }: Admitting,
  variant: Variant,
  space: RequirementSpace,
): AdmissionRefusal | undefined {
  const taint = untolerated(taints, variant);
  if (taint !== undefined) return { stage: "taints", taint };
  const { hostname } = variant;
  if (hostname !== undefined && !acceptsNewHost(variant)) return { stage: "hostname", hostname };
  if (space.join(set, variant.set) !== undefined) return undefined;
  return { stage: "requirements", conflicts: space.conflicts(set, space.get(variant.set)) };
}

function untolerated(taints: readonly Taint[], { tolerations }: Variant): Taint | undefined {
  return taints.length === 0 ? undefined : firstUntolerated(tolerations, taints);
}

/** Whether the pod may run on a host whose name is not known yet. */
function acceptsNewHost({ hostname }: Variant): boolean {
  return hostname === undefined || allows(hostname, NEW_HOSTNAME);
}

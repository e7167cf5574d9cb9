/** Which nodes can use a device or an allocated claim. */

import { HOSTNAME_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { Device, ResourceSlice } from "../../apis/resource/kinds.ts";
import { allows, type Requirement, toRequirement } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";

/** One term of a node selector. The node must satisfy all of it. */
export interface ReachTerm {
  /** Requirements on the node's labels, except the host name. */
  readonly labels: Requirements;
  /** Requirements on the node's name and host name. A node that does not exist yet satisfies none of them. */
  readonly names: readonly Requirement[];
}

/** The nodes that can use a device or claim. `terms`: the node must satisfy one of them. */
export type Reach =
  | "everywhere"
  | { readonly node: string }
  | { readonly terms: readonly ReachTerm[] };

export const EVERYWHERE: Reach = "everywhere";

type WireTerms = NonNullable<Device["nodeSelector"]>["nodeSelectorTerms"];

/** The nodes that can use the device. Undefined: the slice names no nodes, so none can. */
export function reachOf(slice: ResourceSlice["spec"], device: Device): Reach | undefined {
  const { allNodes, nodeName, nodeSelector } =
    slice.perDeviceNodeSelection === true ? device : slice;
  if (nodeName !== undefined && nodeName !== "") return { node: nodeName };
  if (nodeSelector !== undefined) return { terms: termsOf(nodeSelector.nodeSelectorTerms) };
  return allNodes === true ? EVERYWHERE : undefined;
}

/** The terms of a node selector. As in Kubernetes, a term without expressions selects no node. */
export function termsOf(terms: WireTerms): readonly ReachTerm[] {
  return terms.flatMap(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return [];
    const all = matchExpressions.map((one) => toRequirement(one as never));
    return [
      {
        labels: Requirements.of(all.filter(({ key }) => key !== HOSTNAME_LABEL_KEY)),
        names: [
          ...all.filter(({ key }) => key === HOSTNAME_LABEL_KEY),
          ...matchFields.map((one) => toRequirement(one as never)),
        ],
      },
    ];
  });
}

const NEW_NODE = "name-of-a-node-that-does-not-exist-yet";

/** Whether the term allows a node with this name and host name. `node` undefined: the node does not exist yet. */
export function allowsNames(
  { names }: ReachTerm,
  node?: { readonly name: string; readonly hostname: string },
): boolean {
  return names.every((one) => {
    const name = one.key === HOSTNAME_LABEL_KEY ? node?.hostname : node?.name;
    return allows(one, name ?? NEW_NODE);
  });
}

/**
 * Decides when a claim counts as registered: exactly one Node has its provider id. Also computes what Karpenter then
 * sets on this Node: its finalizer, owner, labels, annotations and taints.
 * upstream: pkg/controllers/nodeclaim/lifecycle/registration.go
 */
import type { Node, Taint } from "../../apis/core/node.ts";
import { isSameTaint } from "../../apis/core/tolerations.ts";
import { claimKind } from "../../apis/hub/claim.ts";
import {
  NODE_DO_NOT_SYNC_TAINTS_LABEL_KEY,
  NODE_REGISTERED_LABEL_KEY,
  TERMINATION_FINALIZER,
  UNREGISTERED_TAINT_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { apiVersionOf, type OwnerReference } from "../../apis/meta.ts";

/** Whether the claim's Node has joined the cluster. */
export type Registration =
  | { readonly state: "waiting"; readonly reason: "NodeNotFound"; readonly message: string }
  | { readonly state: "ambiguous"; readonly reason: "MultipleNodesFound"; readonly message: string }
  | {
      readonly state: "found";
      readonly node: Node;
      /**
       * Whether the Node joined without the unregistered taint. If so, kube-scheduler may already have bound pods to
       * it.
       */
      readonly taintMissing: boolean;
    };

/** The state of the registration. `nodes`: the Nodes with the claim's provider id. */
export function registration(nodes: readonly Node[]): Registration {
  const [node, ...others] = nodes;
  if (node === undefined) {
    return {
      state: "waiting",
      reason: "NodeNotFound",
      message: "Node not registered with cluster",
    };
  }
  if (others.length > 0) {
    const names = nodes.map(({ metadata }) => metadata.name).sort();
    return {
      state: "ambiguous",
      reason: "MultipleNodesFound",
      message: `Invariant violated, matched multiple nodes: ${names.join(", ")}`,
    };
  }
  const registered = node.metadata.labels?.[NODE_REGISTERED_LABEL_KEY] === "true";
  const taints = node.spec?.taints ?? [];
  const tainted = taints.some(({ key }) => key === UNREGISTERED_TAINT_KEY);
  return { state: "found", node, taintMissing: !registered && !tainted };
}

/**
 * The Node as it must be after registration. The claim's labels and annotations replace those of the Node with the same
 * key. Missing taints of the claim are added, unless a label of the Node forbids it. The unregistered taint is removed,
 * and the registered label is added.
 */
export function joinedNode(claim: NodeClaim, node: Node): Node {
  const { metadata, spec } = node;
  const labels = {
    ...metadata.labels,
    ...claim.metadata.labels,
    [NODE_REGISTERED_LABEL_KEY]: "true",
  };
  const syncTaints = metadata.labels?.[NODE_DO_NOT_SYNC_TAINTS_LABEL_KEY] !== "true";
  const wanted = syncTaints
    ? [...(claim.spec.taints ?? []), ...(claim.spec.startupTaints ?? [])]
    : [];
  const taints = mergeTaints(spec?.taints ?? [], wanted).filter(
    ({ key }) => key !== UNREGISTERED_TAINT_KEY,
  );
  const hadTaints = spec?.taints !== undefined;
  return {
    ...node,
    metadata: {
      ...metadata,
      labels,
      annotations: { ...metadata.annotations, ...claim.metadata.annotations },
      finalizers: withItem(metadata.finalizers ?? [], TERMINATION_FINALIZER),
      ownerReferences: withOwner(metadata.ownerReferences ?? [], claim),
    },
    spec: { ...spec, ...(hadTaints || taints.length > 0 ? { taints } : {}) },
  };
}

/** The union of both lists. Existing taints keep their position and value; missing taints are appended. */
function mergeTaints(present: readonly Taint[], wanted: readonly Taint[]): readonly Taint[] {
  const missing = wanted.filter((taint) => !present.some((one) => isSameTaint(one, taint)));
  return [...present, ...missing];
}

function withItem(items: readonly string[], item: string): readonly string[] {
  return items.includes(item) ? items : [...items, item];
}

function withOwner(owners: readonly OwnerReference[], claim: NodeClaim): readonly OwnerReference[] {
  if (owners.some(({ uid }) => uid === claim.metadata.uid)) return owners;
  const kind = claimKind(claim);
  const owner: OwnerReference = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: claim.metadata.name,
    uid: claim.metadata.uid ?? "",
    blockOwnerDeletion: true,
  };
  return [...owners, owner];
}

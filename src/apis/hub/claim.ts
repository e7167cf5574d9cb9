/**
 * Claims of all API versions in the v1 form: a v1 NodeClaim whose apiVersion and kind are still those of the stored
 * object. NodeClaims need no conversion. Machines are converted without loss, so controllers need code for one form
 * only. `fromClaim` restores the native form for the API server.
 */
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { isObject } from "../../base/json.ts";
import type { KubeletConfiguration } from "../karpenter/kubelet.ts";
import {
  GENERATION_ANNOTATION_KEY,
  KUBELET_COMPATIBILITY_ANNOTATION_KEY,
  NODEPOOL_LABEL_KEY,
  PROVISIONER_NAME_LABEL_KEY,
} from "../karpenter/labels.ts";
import { MACHINE, type Machine } from "../karpenter/machine.ts";
import { NODE_CLAIM, type NodeClaim } from "../karpenter/nodeclaim.ts";
import type { NodeClassReference } from "../karpenter/nodepool.ts";
import type { ProviderRef } from "../karpenter/provisioner.ts";
import { apiVersionOf, type Condition, type Kind, type KubeObject } from "../meta.ts";
import type { Generation } from "./generation.ts";
import { CLAIM_SHAPE, sound } from "./shape.ts";

// biome-ignore lint/suspicious/noExplicitAny: the kinds differ in shape, and callers treat both as hub claims
export const CLAIM_KINDS: readonly Kind<any>[] = [NODE_CLAIM, MACHINE];

/**
 * The names of conditions of a Machine, for those that the hub form names differently. `Empty` and `Expired` come from
 * v1beta1.
 */
const MACHINE_CONDITIONS: Readonly<Record<string, string>> = {
  Launched: "MachineLaunched",
  Registered: "MachineRegistered",
  Initialized: "MachineInitialized",
  Empty: "MachineEmpty",
  Expired: "MachineExpired",
  Drifted: "MachineDrifted",
};

const HUB_CONDITIONS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(MACHINE_CONDITIONS).map(([hub, machine]) => [machine, hub]),
);

/** Fields of a converted Machine that v1 does not have. */
interface MachineExtras {
  readonly kubelet?: KubeletConfiguration;
  readonly machineTemplateRef?: ProviderRef;
}

function isMachine(object: KubeObject): boolean {
  return object.kind === MACHINE.kind;
}

/** Converts a NodeClaim or Machine to the v1 form. */
export function toClaim(native: KubeObject): NodeClaim {
  if (!isMachine(native)) return sound(native as NodeClaim, CLAIM_SHAPE).value;
  const machine = native as Machine;
  const { requirements, ...spec } = machine.spec ?? {};
  return {
    ...machine,
    spec: {
      ...spec,
      requirements: requirements ?? [],
      nodeClassRef: classRefOf(machine.spec?.machineTemplateRef),
    },
    ...translateConditions(machine.status, HUB_CONDITIONS),
  } as NodeClaim;
}

/**
 * Converts back to the native form, for the API server. A Machine has no expireAfter (its Provisioner has it) and no
 * terminationGracePeriod, so they are left out.
 */
export function fromClaim(claim: NodeClaim): KubeObject {
  if (!isMachine(claim)) return claim;
  const { nodeClassRef, expireAfter, terminationGracePeriod, requirements, ...rest } = claim.spec;
  const { machineTemplateRef, ...spec } = rest as typeof rest & MachineExtras;
  const ref = machineTemplateRef ?? templateRefOf(nodeClassRef);
  const machine: KubeObject & { spec: unknown } = {
    ...claim,
    spec: {
      ...spec,
      ...(requirements.length > 0 ? { requirements } : {}),
      ...(ref === undefined ? {} : { machineTemplateRef: ref }),
    },
    ...translateConditions(claim.status, MACHINE_CONDITIONS),
  };
  return machine;
}

/** The kind for API requests about this claim. */
// biome-ignore lint/suspicious/noExplicitAny: see CLAIM_KINDS
export function claimKind(claim: KubeObject): Kind<any> {
  return isMachine(claim) ? MACHINE : NODE_CLAIM;
}

/** The API version of the claim. Claims of v1beta1 pools have an annotation, which the planner writes. */
export function claimGeneration(claim: KubeObject): Generation {
  if (isMachine(claim)) return "alpha";
  return claim.metadata.annotations?.[GENERATION_ANNOTATION_KEY] === "v1beta1" ? "beta" : "v1";
}

/** The `Pool.id` of the pool that the labels of a claim or node name. Undefined: they name none. */
export function poolIdOfLabels(
  labels: Readonly<Record<string, string>> | undefined,
): string | undefined {
  const nodePool = labels?.[NODEPOOL_LABEL_KEY];
  if (nodePool !== undefined) return `nodepool/${nodePool}`;
  const provisioner = labels?.[PROVISIONER_NAME_LABEL_KEY];
  return provisioner === undefined ? undefined : `provisioner/${provisioner}`;
}

/** The name of the pool that the labels name, whatever its kind. */
export function poolNameOfLabels(
  labels: Readonly<Record<string, string>> | undefined,
): string | undefined {
  const id = poolIdOfLabels(labels);
  return id?.slice(id.indexOf("/") + 1);
}

/** The id of the NodePool or Provisioner that owns the claim. Undefined: the claim has no label with an owner. */
export function poolIdOfClaim(claim: KubeObject): string | undefined {
  return poolIdOfLabels(claim.metadata.labels);
}

/** The kubelet settings that a claim got from a v1alpha5 or v1beta1 pool. v1 claims use those of their class. */
export function claimKubelet(claim: NodeClaim): KubeletConfiguration | undefined {
  const own = (claim.spec as MachineExtras).kubelet;
  if (own !== undefined) return own;
  return parseKubelet(claim.metadata.annotations?.[KUBELET_COMPATIBILITY_ANNOTATION_KEY]);
}

/**
 * Stores a pool's kubelet settings on the claim so that `claimKubelet` finds them. The place depends on the claim's
 * kind.
 */
export function withClaimKubelet(
  claim: NodeClaim,
  kubelet: KubeletConfiguration | undefined,
): NodeClaim {
  if (kubelet === undefined) return claim;
  if (isMachine(claim)) return { ...claim, spec: { ...claim.spec, ...{ kubelet } } };
  const annotations = {
    ...claim.metadata.annotations,
    [KUBELET_COMPATIBILITY_ANNOTATION_KEY]: JSON.stringify(kubelet),
  };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

/** The settings in the kubelet annotation. Undefined: it is absent or invalid. */
export function parseKubelet(text: string | undefined): KubeletConfiguration | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = parseBoundedJson(text);
    return isObject(value) ? (value as KubeletConfiguration) : undefined;
  } catch {
    return undefined;
  }
}

/** Converts a provider reference to a node class reference. The name is empty for an inline provider. */
export function classRefOf(ref: ProviderRef | undefined): NodeClassReference {
  const group = ref?.apiVersion?.includes("/") ? ref.apiVersion.split("/")[0] : undefined;
  return {
    group: group || "karpenter.k8s.aws",
    kind: ref?.kind || "AWSNodeTemplate",
    name: ref?.name ?? "",
  };
}

function templateRefOf(ref: NodeClassReference): ProviderRef | undefined {
  if (ref.name === "") return undefined;
  const apiVersion = `${ref.group}/v1alpha1`;
  return { apiVersion, kind: ref.kind, name: ref.name };
}

function translateConditions(
  status: { readonly conditions?: readonly Condition[] } | undefined,
  names: Readonly<Record<string, string>>,
): { status?: unknown } {
  if (status === undefined) return {};
  if (status.conditions === undefined) return { status };
  const conditions = status.conditions.map((one) => ({
    ...one,
    type: names[one.type] ?? one.type,
  }));
  return { status: { ...status, conditions } };
}

/** apiVersion and kind of a new claim in this API version. */
export function claimHead(generation: Generation): { apiVersion: string; kind: string } {
  const kind = generation === "alpha" ? MACHINE : NODE_CLAIM;
  return { apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** What every Kubernetes object has, and how a kind is named. The shapes are the JSON of apimachinery. */
import { fromRfc3339 } from "../base/clock.ts";

/** `controller: true` marks the one owner that manages the object. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Times are RFC 3339 text, as on the wire. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly generateName?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly unknown[];
}

/** Any API object as it travels. Objects read from a client or a store are frozen: copy, then change. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** `metav1.Condition`, with all fields optional that older kinds leave out. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
  readonly severity?: string;
}

/** `In` and `NotIn` have values; the other operators have none. `NotIn` also matches a missing key. */
export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values?: readonly string[];
}

/** Labels and expressions must all match. An empty selector matches every object. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

/** Names one kind at one version. `T` is the shape of its objects. */
export interface Kind<T extends KubeObject = KubeObject> {
  /** `""` for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The resource in URLs: `nodepools`. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set. It only lets TypeScript infer `T`. */
  readonly shape?: T;
}

/** `v1`, `apps/v1`. */
export function apiVersionOf(kind: Kind): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

/** `namespace/name`, or the name alone for cluster-scoped objects: the key of caches and queues. */
export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Free-form resource amounts as written: `{"cpu": "500m"}`. Some writers use JSON numbers. */
export type ResourceAmounts = Readonly<Record<string, string | number>>;

/** Epoch ms of creation; 0 for objects that were never stored. */
export function createdAtMs(object: KubeObject): number {
  return fromRfc3339(object.metadata.creationTimestamp) ?? 0;
}

/** The owner that controls an object, if any. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

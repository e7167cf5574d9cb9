/** What every Kubernetes object has, and how a kind is named. The types are those of apimachinery's JSON. */
import { fromRfc3339 } from "../base/clock.ts";

/** A reference to an owner of an object. `controller: true` marks the one owner that manages the object. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** The metadata of an object. Times are text, as RFC 3339. */
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

/** Any API object, as JSON. Objects read from a client or a store are frozen: copy them before a change. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** A condition as in `metav1.Condition`. Fields that older kinds do not have are optional. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
  readonly severity?: string;
}

/**
 * A requirement on labels. `In` and `NotIn` have values; the other operators have none. `NotIn` also matches a missing
 * key.
 */
export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values?: readonly string[];
}

/** A label selector. Labels and expressions must all match. An empty selector matches every object. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

/** One kind in one API version. `T`: the type of its objects. */
export interface Kind<T extends KubeObject = KubeObject> {
  /** The API group. It is `""` for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The name in URLs, such as `nodepools`. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set. It only lets TypeScript infer `T`. */
  readonly shape?: T;
}

/** The apiVersion of the kind, such as `v1` or `apps/v1`. */
export function apiVersionOf(kind: Kind): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

/** The key of an object in caches and queues: `namespace/name`, or the name alone for cluster-scoped objects. */
export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Resource amounts as written in objects, such as `{"cpu": "500m"}`. Some writers use JSON numbers. */
export type ResourceAmounts = Readonly<Record<string, string | number>>;

/** Time of the object's creation in milliseconds since 1970. It is 0 for objects that were never stored. */
export function createdAtMs(object: KubeObject): number {
  return fromRfc3339(object.metadata.creationTimestamp) ?? 0;
}

/** The owner that controls an object. Undefined: there is none. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** The resourceVersion of an object or a list as a number, by which two of one kind can be compared. 0: it has none. */
export function versionOf({
  resourceVersion,
}: {
  readonly resourceVersion?: string | undefined;
}): number {
  return Number(resourceVersion) || 0;
}

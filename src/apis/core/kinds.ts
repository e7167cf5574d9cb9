/** Kinds of the core group besides Pod and Node, with the fields that this project reads. */
import type { Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import type { NodeSelectorTerm } from "./pod.ts";

/** A namespace. While it is Terminating, nothing can be created in it. */
export interface Namespace extends KubeObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: "Active" | "Terminating" };
}

/** A ConfigMap. Only its text values are read, not binary data. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** A Secret. The values of `data` are base64. */
export interface Secret extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** A Service. Only its selector is read: the default topology spread counts the pods of a Service together. */
export interface Service extends KubeObject {
  readonly spec?: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly [f: string]: unknown;
  };
}

/** An Event of core/v1. `count` and the timestamps change when the same event happens again. */
export interface Event extends KubeObject {
  readonly involvedObject: {
    readonly apiVersion?: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly uid?: string;
  };
  readonly reason: string;
  readonly message: string;
  readonly type: "Normal" | "Warning";
  readonly count?: number;
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  readonly source?: { readonly component?: string };
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

/**
 * A claim for a volume. It is bound if `volumeName` is set. An empty `storageClassName` means no class, an absent one
 * means the default class.
 */
export interface PersistentVolumeClaim extends KubeObject {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: ResourceAmounts };
    readonly volumeMode?: string;
  };
  readonly status?: {
    readonly phase?: "Pending" | "Bound" | "Lost";
    readonly [f: string]: unknown;
  };
}

/** A volume. Its node affinity says in which zones a pod can use it. */
export interface PersistentVolume extends KubeObject {
  readonly spec: {
    readonly storageClassName?: string;
    readonly csi?: { readonly driver: string; readonly volumeHandle?: string };
    readonly awsElasticBlockStore?: unknown;
    readonly hostPath?: unknown;
    readonly local?: unknown;
    readonly nodeAffinity?: {
      readonly required?: { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] };
    };
    readonly claimRef?: {
      readonly namespace?: string;
      readonly name?: string;
      readonly uid?: string;
    };
    readonly [field: string]: unknown;
  };
  readonly status?: { readonly phase?: string; readonly lastPhaseTransitionTime?: string };
}

export interface ResourceQuota extends KubeObject {
  readonly spec?: {
    readonly hard?: ResourceAmounts;
    readonly scopes?: readonly string[];
    readonly scopeSelector?: unknown;
  };
  readonly status?: { readonly hard?: ResourceAmounts; readonly used?: ResourceAmounts };
}

function core<T extends KubeObject>(kind: string, plural: string, namespaced: boolean): Kind<T> {
  return { group: "", version: "v1", kind, plural, namespaced };
}

export const NAMESPACE: Kind<Namespace> = core("Namespace", "namespaces", false);
export const CONFIG_MAP: Kind<ConfigMap> = core("ConfigMap", "configmaps", true);
export const SECRET: Kind<Secret> = core("Secret", "secrets", true);
export const SERVICE: Kind<Service> = core("Service", "services", true);
/** The addresses of a Service in the older form, which EndpointSlices replace. */
export const ENDPOINTS: Kind = core("Endpoints", "endpoints", true);
/** The addresses of a Service, in one or more objects. */
export const ENDPOINT_SLICE: Kind = {
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
};
/** The identity that pods use at the API server. */
export const SERVICE_ACCOUNT: Kind = core("ServiceAccount", "serviceaccounts", true);
export const EVENT: Kind<Event> = core("Event", "events", true);
export const PERSISTENT_VOLUME_CLAIM: Kind<PersistentVolumeClaim> = core(
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
  true,
);
export const RESOURCE_QUOTA: Kind<ResourceQuota> = core("ResourceQuota", "resourcequotas", true);
export const PERSISTENT_VOLUME: Kind<PersistentVolume> = core(
  "PersistentVolume",
  "persistentvolumes",
  false,
);

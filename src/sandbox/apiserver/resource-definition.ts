/**
 * What the API server must know about one resource in one version. Built-in kinds come from the schemas in data/,
 * custom ones from CustomResourceDefinitions. No verb has code for a single kind.
 */
import type { KubeObject } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import type { WrongValue } from "./schema/decode.ts";
import type { FieldError, Schema } from "./schema/schema.ts";

/** Everything the API server knows of one resource, whether it comes from data or from a CRD. */
export interface ResourceDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** The key of the store that all versions of the resource share: `karpenter.sh/nodepools`. */
  readonly storageKey: string;
  /** Objects are stored at this version. */
  readonly storageVersion: string;
  readonly schema: Schema;
  readonly hasStatus: boolean;
  readonly scale: ScalePaths | undefined;
  /** The warning sent with each answer about a deprecated kind or version. */
  readonly warning: string | undefined;
  readonly columns: readonly Column[];
  /**
   * An annotation in which Go's internal type has a field of its own. Rows of a Table show the internal type,
   * so they lack the annotation.
   */
  readonly innerAnnotation?: string;

  /** Computes objects that are not stored, of one namespace or of all, in key order. */
  readonly computed?: (from: Computing, namespace: string | undefined) => readonly KubeObject[];

  /** The subresources for discovery. Absent: `status` if `hasStatus`, and `scale` if `scale` is set. */
  readonly subresources?: readonly Subresource[];

  /** Finds unknown fields and wrong types. `value` is the object without unknown fields. */
  readonly prune: (object: KubeObject) => Pruned;
  /** Adapts a stored object that was written under an older schema. Absent: the schema never changes. */
  readonly reread?: (object: KubeObject) => KubeObject;
  /** Fills defaults, of the schema and of the kind (a Pod's restartPolicy, a Deployment's strategy). */
  readonly applyDefaults: (object: KubeObject) => KubeObject;
  /** Sets the fields of the kind before the first write, such as the status. The engine sets the metadata. */
  readonly prepareCreate: (object: KubeObject) => KubeObject;
  /** Restores from `current` what an update of the main resource may not change. */
  readonly prepareUpdate: (next: KubeObject, current: KubeObject) => KubeObject;
  /** Restores from `current` what a write of the status may not leave out. */
  readonly prepareStatus?: (next: KubeObject, current: KubeObject) => KubeObject;
  /** Checks schema, CEL rules (with the old value on update) and rules of the kind. Empty: the object is valid. */
  readonly validate: (next: KubeObject, current: KubeObject | undefined) => readonly FieldError[];
  /** Checks what depends on other objects. Empty, or absent: the object is valid among them. */
  readonly validateAmong?: (
    next: KubeObject,
    current: KubeObject | undefined,
    store: StoreReader,
  ) => readonly FieldError[];
  /** The cells of a row, in the order of `columns`. `nowMs` is the present time, from which ages are computed. */
  readonly tableCells: (object: KubeObject, nowMs: number) => readonly unknown[];
  /** Converts from this version to another one of the same resource. Absent: there is only one version. */
  readonly conversion:
    | { readonly strategy: "None" | "Webhook"; readonly webhook?: WebhookClientConfig }
    | undefined;
}

/** The stored objects of all resources, by their storage keys. */
export interface StoreReader {
  get(storageKey: string, namespace: string | undefined, name: string): KubeObject | undefined;
  list(storageKey: string, namespace?: string): { readonly objects: readonly KubeObject[] };
}

/** The input of computed objects. */
export interface Computing {
  readonly store: StoreReader;
  readonly clock: Pick<Clock, "now">;
}

/** An object without unknown fields. */
export interface Pruned {
  readonly value: KubeObject;
  /**
   * Paths of unknown fields, each once. They are never in `value`; the request's fieldValidation decides
   * whether they are reported.
   */
  readonly unknown: readonly string[];
  /**
   * Set if a value has a type that the kind cannot hold: Go's error (`json: cannot unmarshal …`). `value` is then the
   * object as it was sent.
   */
  readonly malformed?: string;
  /** Where the value with the wrong type is. */
  readonly wrong?: WrongValue;
}

/** A subresource, such as `status` or `scale`. */
export interface Subresource {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

/** Where a kind keeps its replicas, for the subresource `scale`. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath: string | undefined;
}

/** A column of a Table. Priority 0 is always shown. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** How a webhook is called, as in CRDs and webhook configurations. */
export interface WebhookClientConfig {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path?: string;
    readonly port?: number;
  };
  readonly caBundle?: string;
}

/** All resources that are served now. They change with CRDs. */
export interface Registry {
  find(group: string, version: string, plural: string): ResourceDefinition | undefined;
  /** The resource of this kind, for owner references and request bodies. */
  findKind(group: string, version: string, kind: string): ResourceDefinition | undefined;
  /** All resources, sorted by group, version (in Kubernetes' order of preference) and plural. */
  list(): readonly ResourceDefinition[];
}

/**
 * Calls a webhook: an AdmissionReview or ConversionReview goes in, the answered review comes out. Webhooks of services
 * are the operator's handlers in this process, found by service name and path. A URL is called over HTTPS.
 */
export type WebhookCaller = (
  config: WebhookClientConfig,
  review: unknown,
  timeoutMs?: number,
) => Promise<unknown>;

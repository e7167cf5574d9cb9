/** The view of a write that admission plugins and webhooks get. */
import type { KubeObject } from "../../../apis/meta.ts";

/** One write as admission sees it. `object` is absent for DELETE. */
export interface Admission<T extends KubeObject | undefined = KubeObject | undefined> {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly object: T;
  readonly old: KubeObject | undefined;
  readonly subresource?: string;
  /** Set only if the object's kind is not the kind of the resource: an Eviction of a pod, the Scale of a workload. */
  readonly kind?: GroupVersionKind;
}

/** Names a kind in one version. */
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What an admission plugin or webhook is shown of a write. */
import type { KubeObject } from "../../apis/meta.ts";

/** One write as admission sees it. `object` is absent for DELETE. */
export interface Admission<T extends KubeObject | undefined = KubeObject | undefined> {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly object: T;
  readonly old: KubeObject | undefined;
  readonly subresource?: string;
}

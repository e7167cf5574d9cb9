import type { KubeObject } from "../../../apis/meta.ts";
import type { Call } from "../engine.ts";
import { ApiError } from "../status.ts";
export async function apply(
  _call: Call,
  _subresource: string | undefined,
): Promise<{ readonly object: KubeObject; readonly created: boolean }> {
  throw new ApiError(501, "NotImplemented", "server-side apply is not built yet");
}

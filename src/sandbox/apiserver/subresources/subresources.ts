/** The subresources that act: eviction, binding, logs, scale, tokens. */
import type { KubeResponse } from "../../../kube/transport.ts";
import type { Call } from "../engine.ts";
import { ApiError } from "../status.ts";

export async function answerSubresource(_call: Call): Promise<KubeResponse> {
  throw new ApiError(404, "NotFound", "the server could not find the requested resource", {});
}

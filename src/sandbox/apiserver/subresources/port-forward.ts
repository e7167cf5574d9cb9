/**
 * pods/portforward: connections to ports of a pod. As with pods/proxy, only a pod whose process somebody else runs can
 * answer. The listener speaks the protocol; kubectl tries it inside a websocket first, and takes SPDY when that is refused.
 */
import { keyOf } from "../../../apis/meta.ts";
import type { ApiAnswer } from "../api-server.ts";
import type { Call } from "../engine.ts";
import { getObject } from "../objects/read.ts";
import { badRequest } from "../request/status.ts";

/** Undefined: nobody connects to pods. Throws ApiError where the request does not ask for SPDY. */
export async function answerPortForward(call: Call): Promise<ApiAnswer | undefined> {
  const { connect } = call.engine.pods;
  if (connect === undefined) return undefined;
  const pod = keyOf(await getObject(call));
  if (call.headers["upgrade"]?.toLowerCase() !== "spdy/3.1")
    throw badRequest("Upgrade request required: pods/portforward is served over SPDY/3.1 only");
  return { status: 101, headers: {}, connect: (port) => connect(pod, port) };
}

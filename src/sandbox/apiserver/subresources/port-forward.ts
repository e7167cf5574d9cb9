/**
 * pods/portforward: connections to ports of a pod. As with pods/proxy, only pods whose process runs outside of
 * the sandbox can answer. The listener speaks the protocol: kubectl first tries SPDY inside a websocket, which
 * is refused, and then plain SPDY.
 */
import { keyOf } from "../../../apis/meta.ts";
import type { ApiAnswer } from "../api-server.ts";
import type { Call } from "../engine.ts";
import { getObject } from "../objects/read.ts";
import { badRequest } from "../request/status.ts";

/**
 * The answer that upgrades the connection. Undefined if nothing connects to pods. Throws ApiError if the
 * request does not ask for SPDY.
 */
export async function answerPortForward(call: Call): Promise<ApiAnswer | undefined> {
  const { connect } = call.engine.pods;
  if (connect === undefined) return undefined;
  const pod = keyOf(await getObject(call));
  if (call.headers["upgrade"]?.toLowerCase() !== "spdy/3.1")
    throw badRequest("Upgrade request required: pods/portforward is served over SPDY/3.1 only");
  return { status: 101, headers: {}, connect: (port) => connect(pod, port) };
}

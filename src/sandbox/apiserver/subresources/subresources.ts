/**
 * Which file answers which subresource. `status` is an ordinary update of one part, so it is not here. What the sandbox
 * cannot do, such as exec into a container, is refused with the reason.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { type Call, isCustom } from "../engine.ts";
import { getObject } from "../objects/read.ts";
import { ApiError, badRequest, methodNotAllowed, notFound } from "../request/status.ts";
import { bindPod } from "./binding.ts";
import { evictPod } from "./eviction.ts";
import { finalizeNamespace } from "./finalize.ts";
import { readLog } from "./log.ts";
import { answerPortForward } from "./port-forward.ts";
import { answerProxy } from "./proxy.ts";
import { answerScale } from "./scale.ts";
import { requestToken } from "./token.ts";

const CONTAINERLESS: ReadonlySet<string> = new Set(["exec", "attach", "portforward", "proxy"]);

/** Subresources that kube-apiserver refuses for a pod that has no node. */
const STREAMING: ReadonlySet<string> = new Set(["exec", "attach", "portforward"]);

/** Answers `<resource>/<name>/<subresource>`. Throws ApiError. */
export async function answerSubresource(call: Call): Promise<KubeResponse> {
  const { definition, method, path } = call;
  const { plural } = definition;
  const what = `${definition.group === "" ? "" : `${definition.group}/`}${plural}/${path.subresource}`;
  switch (what) {
    case "pods/eviction":
      requireMethod(method, "POST");
      return evictPod(call);
    case "pods/binding":
      requireMethod(method, "POST");
      return bindPod(call);
    case "pods/log":
      requireMethod(method, "GET");
      return readLog(call);
    case "pods/proxy": {
      const answer = method === "GET" ? await answerProxy(call) : undefined;
      if (answer !== undefined) return answer;
      throw containerless(what);
    }
    case "pods/portforward": {
      await refuseHostless(call);
      const answer = await answerPortForward(call);
      if (answer !== undefined) return answer;
      throw containerless(what);
    }
    case "serviceaccounts/token":
      requireMethod(method, "POST");
      return requestToken(call);
    case "namespaces/finalize":
      requireMethod(method, "PUT");
      return finalizeNamespace(call);
    default:
      break;
  }
  if (path.subresource === "scale" && definition.scale !== undefined) {
    return answerScale(call, definition.scale);
  }
  if (CONTAINERLESS.has(path.subresource as string)) {
    await refuseHostless(call);
    throw containerless(what);
  }
  if (isCustom(definition)) throw notFound(definition, path.name ?? "");
  throw new ApiError(404, "NotFound", "the server could not find the requested resource", {});
}

function containerless(what: string): ApiError {
  return badRequest(
    `${what} is not available: the sandbox runs no containers, only their life in the API`,
  );
}

/** Throws for a pod without a node. kube-apiserver checks this before everything else. */
async function refuseHostless(call: Call): Promise<void> {
  if (call.path.name !== undefined && call.definition.plural !== "pods") await getObject(call);
  if (call.definition.plural !== "pods") return;
  const { metadata, spec } = (await getObject(call)) as KubeObject & {
    readonly spec?: { readonly nodeName?: string };
  };
  if (spec?.nodeName || !STREAMING.has(call.path.subresource as string)) return;
  throw badRequest(`pod ${metadata.name} does not have a host assigned`);
}

function requireMethod(method: string, wanted: string): void {
  if (method !== wanted) throw methodNotAllowed();
}

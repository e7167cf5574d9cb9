/**
 * pods/proxy: a request to a port of a pod. The sandbox runs no containers, so it answers only for pods whose
 * process runs outside of it. The name of the pod may have a scheme in front and a port behind:
 * `http:karpenter-0:8080`.
 * upstream: pkg/registry/core/pod/rest of Kubernetes
 */
import { keyOf } from "../../../apis/meta.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import type { Call } from "../engine.ts";
import { getObject } from "../objects/read.ts";
import { badRequest } from "../request/status.ts";

const MOST_PORT = 65_535;

/**
 * The answer of the pod's process. Undefined if no process runs for the pod. Throws ApiError if the pod does
 * not exist or the port is not a number.
 */
export async function answerProxy(call: Call): Promise<KubeResponse | undefined> {
  const { path, engine } = call;
  const { name, port } = podAndPort(path.name ?? "");
  const pod = await getObject({ ...call, path: { ...path, name } });
  return engine.pods.http?.({ pod: keyOf(pod), port, path: `/${path.rest.join("/")}` });
}

/**
 * Splits an id such as `http:karpenter-0:8080`. The port must be a plain number, because it becomes part of an
 * address.
 */
function podAndPort(id: string): { readonly name: string; readonly port: string | undefined } {
  const [, name, port] = /^(?:(?:https?)?:(?=[^:]+:))?([^:]+)(?::([1-9]\d*)?)?$/.exec(id) ?? [];
  if (name === undefined || Number(port ?? 1) > MOST_PORT)
    throw badRequest(`invalid pod request ${JSON.stringify(id)}`);
  return { name, port };
}

/**
 * pods/proxy: a request to a port of a pod. The sandbox runs no containers, so only a pod whose process somebody else
 * runs can answer. The name of the pod may have a scheme in front and a port behind: `http:karpenter-0:8080`.
 * upstream: pkg/registry/core/pod/rest of Kubernetes
 */
import { keyOf } from "../../../apis/meta.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import type { Call } from "../engine.ts";
import { getObject } from "../objects/read.ts";

/** Undefined: nobody answers for the pod. Throws ApiError where there is no such pod. */
export async function answerProxy(call: Call): Promise<KubeResponse | undefined> {
  const { path, engine } = call;
  const [, , name = path.name, port] =
    /^(?:(https?):)?([^:]+)(?::(.*))?$/.exec(path.name ?? "") ?? [];
  const pod = await getObject({ ...call, path: { ...path, name } });
  const request = { pod: keyOf(pod), port: port || undefined, path: `/${path.rest.join("/")}` };
  return engine.pods.http?.(request);
}

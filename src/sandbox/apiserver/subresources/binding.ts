/**
 * pods/binding and bindings: the write by which a scheduler places a pod on a node. A pod is bound once. A second
 * binding is a conflict, and so is a binding of a pod that is being deleted or has scheduling gates. upstream:
 * kubernetes pkg/registry/core/pod/storage/storage.go (assignPod)
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { isObject } from "../../../base/json.ts";
import type { KubeRequest, KubeResponse } from "../../../kube/transport/transport.ts";
import { mutate, review } from "../admission/admission.ts";
import { type Call, isDryRun } from "../engine.ts";
import { withCondition, writeDirectly } from "../objects/direct-write.ts";
import type { ResourcePath } from "../request/routing.ts";
import { ApiError, badRequest, conflict, methodNotAllowed, notFound } from "../request/status.ts";
import { postedBody } from "./posted-body.ts";

/**
 * Whether the path is the collection of Bindings, which is older than pods/binding. Objects are posted to it but never
 * stored.
 */
export function isBindings(path: ResourcePath | undefined): path is ResourcePath {
  return path?.group === "" && path.version === "v1" && path.plural === "bindings";
}

/** The path of pods/binding for a Binding that was posted to the collection. */
export function boundPod(path: ResourcePath, { method, body }: KubeRequest): ResourcePath {
  if (path.name !== undefined)
    throw new ApiError(404, "NotFound", "the server could not find the requested resource", {});
  if (method !== "POST" || path.namespace === undefined) throw methodNotAllowed();
  const { name } = isObject(body) && isObject(body["metadata"]) ? body["metadata"] : {};
  if (typeof name !== "string" || name === "") throw badRequest("Name parameter required.");
  return { ...path, plural: "pods", name, subresource: "binding" };
}

const BINDING = { group: "", version: "v1", kind: "Binding" } as const;

interface PodShape extends KubeObject {
  readonly spec?: { readonly nodeName?: string; readonly schedulingGates?: readonly unknown[] };
}

/** Binds the pod to a node, once: a second binding is a conflict. */
export async function bindPod(call: Call): Promise<KubeResponse> {
  const { definition, engine, path } = call;
  const name = path.name as string;
  const admission = {
    operation: "CREATE",
    object: bindingOf(call),
    old: undefined,
    subresource: "binding",
    kind: BINDING,
  } as const;
  const binding = await mutate(call, admission);
  const { nodeName, metadata } = wishOf(binding);
  await review(call, { ...admission, object: binding });
  const pod = engine.store.get(definition.storageKey, path.namespace, name) as PodShape | undefined;
  if (pod === undefined) throw notFound(definition, name);
  refuseUnbindable(pod, metadata["uid"]);
  const annotations = isObject(metadata["annotations"]) ? metadata["annotations"] : undefined;
  const bound = {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(annotations === undefined
        ? {}
        : { annotations: { ...pod.metadata.annotations, ...annotations } }),
    },
    spec: { ...pod.spec, nodeName },
  } as KubeObject;
  const next = withCondition(bound, {
    type: "PodScheduled",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: toRfc3339(engine.clock.now()),
  });
  if (!isDryRun(call)) writeDirectly(call, pod, next);
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
  return { status: 201, headers: { "content-type": "application/json" }, body };
}

function bindingOf(call: Call): KubeObject {
  const { path } = call;
  const body = postedBody(BINDING, call.body);
  const sent = isObject(body["metadata"]) ? body["metadata"] : {};
  const { name = path.name, ...rest } = sent;
  if (name !== path.name) throw badRequest("name in URL does not match name in Binding object");
  const namespace = rest["namespace"] || path.namespace;
  if (namespace !== path.namespace)
    throw badRequest(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  const metadata = { ...rest, name, namespace };
  return { ...body, metadata } as unknown as KubeObject;
}

interface Wish {
  readonly nodeName: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

function wishOf(binding: KubeObject): Wish {
  const { metadata, target } = binding as KubeObject & { readonly target?: object };
  const { kind = "", name = "" } = (target ?? {}) as { kind?: string; name?: string };
  const errors = [];
  if (kind !== "" && kind !== "Node") {
    const message = `Unsupported value: "${kind}": supported values: "Node", "<empty>"`;
    errors.push({ field: "target.kind", reason: "FieldValueNotSupported", message });
  }
  if (name === "") {
    errors.push({ field: "target.name", reason: "FieldValueRequired", message: "Required value" });
  }
  // kube-apiserver answers these errors without the usual prefix.
  if (errors.length > 0) {
    const texts = errors.map(({ field, message }) => `${field}: ${message}`);
    throw new ApiError(
      500,
      "",
      texts.length === 1 ? (texts[0] as string) : `[${texts.join(", ")}]`,
    );
  }
  return { nodeName: name, metadata: { ...metadata } };
}

function refuseUnbindable(pod: PodShape, uid: unknown): void {
  const { name, deletionTimestamp } = pod.metadata;
  const resource = { group: "", plural: "pods/binding" };
  if (uid !== undefined && uid !== "" && uid !== pod.metadata.uid) {
    throw conflict(
      resource,
      name,
      `Precondition failed: UID in precondition: ${String(uid)}, UID in object meta: ${pod.metadata.uid}`,
    );
  }
  if (deletionTimestamp !== undefined) {
    throw conflict(resource, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  if (pod.spec?.nodeName) {
    throw conflict(
      resource,
      name,
      `pod ${name} is already assigned to node "${pod.spec.nodeName}"`,
    );
  }
  if ((pod.spec?.schedulingGates ?? []).length > 0) {
    throw conflict(resource, name, `pod ${name} has non-empty .spec.schedulingGates`);
  }
}

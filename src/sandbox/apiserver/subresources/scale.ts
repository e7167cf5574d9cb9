/**
 * The subresource scale: reads and writes the replicas of an object as an autoscaling/v1 Scale. The definition of the
 * kind says in which field they are.
 */
import { formatLabelSelector } from "../../../apis/core/selectors.ts";
import type { KubeObject, LabelSelector } from "../../../apis/meta.ts";
import { applyMergePatch, clone, isObject } from "../../../base/json.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { type Call, isCustom } from "../engine.ts";
import { getObject } from "../objects/read.ts";
import { update } from "../objects/write.ts";
import { ownedAfterScale } from "../patch/managed-fields.ts";
import { jsonPatched } from "../patch/patch.ts";
import { negotiate } from "../request/negotiation.ts";
import { ApiError, badRequest, invalid, methodNotAllowed } from "../request/status.ts";
import type { ScalePaths } from "../resource-definition.ts";
import { ageCell } from "../table/age.ts";

interface Scale extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number };
}

/** Reads or changes the replicas of a workload. */
export async function answerScale(call: Call, paths: ScalePaths): Promise<KubeResponse> {
  const { method } = call;
  if (method === "GET") {
    const object = await getObject(call);
    checkReplicasSet(object, paths);
    return ok(shown(call, scaleOf(object, paths)));
  }
  if (method !== "PUT" && method !== "PATCH") throw methodNotAllowed();
  const object = await update(call, {
    internal: true,
    subresource: "scale",
    shown: {
      kind: { group: "autoscaling", version: "v1", kind: "Scale" },
      of: (shownObject) => scaleOf(shownObject, paths),
      into: (next, scale) =>
        withValueAt(
          next,
          partsOf(paths.specReplicasPath),
          (scale as Scale).spec?.replicas ?? 0,
        ) as KubeObject,
    },
    managedFields: (next, current) =>
      ownedAfterScale(call, next, current as KubeObject, partsOf(paths.specReplicasPath)),
    next: (current) => {
      const wanted = nextScale(call, scaleOf(current, paths));
      const replicas = replicasOf(call, wanted);
      const next = withValueAt(current, partsOf(paths.specReplicasPath), replicas) as KubeObject;
      const { resourceVersion } = wanted.metadata ?? {};
      if (resourceVersion === undefined) return next;
      return { ...next, metadata: { ...next.metadata, resourceVersion } };
    },
  });
  return ok(shown(call, scaleOf(object, paths)));
}

/**
 * The Scale in the form that the client asked for. upstream: pkg/printers/internalversion/printers.go,
 * printScale
 */
function shown(call: Call, scale: Scale): unknown {
  const view = negotiate(call.headers["accept"], { isCustom: false, shape: "one" });
  if (view.as !== "Table") return scale;
  const columnDefinitions = ["Name", "Desired", "Available", "Age"].map((name, index) => ({
    name,
    type: index === 1 || index === 2 ? "integer" : "string",
    format: index === 0 ? "name" : "",
    description: "",
    priority: 0,
  }));
  const { metadata, spec = {}, status = {} } = scale;
  const age = ageCell(scale, call.engine.clock.now());
  const cells = [metadata.name, spec.replicas ?? 0, status.replicas ?? 0, age];
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion: metadata.resourceVersion },
    columnDefinitions,
    rows: [{ cells, object: call.query.get("includeObject") === "None" ? null : scale }],
  };
}

function nextScale(call: Call, current: Scale): Scale {
  if (call.method === "PUT") {
    const sent = call.body as Scale;
    if (sent?.metadata?.name !== undefined) return sent;
    throw badRequest(
      `the name of the object (${call.path.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  const type = call.headers["content-type"] ?? "";
  if (type.startsWith("application/json-patch+json")) {
    return jsonPatched(current, call.body) as Scale;
  }
  // A Scale has no lists, so merge patch, strategic patch and apply mean the same.
  return applyMergePatch(current, call.body) as Scale;
}

function replicasOf(call: Call, wanted: Scale): number {
  const replicas = isObject(wanted) ? (wanted.spec?.replicas ?? 0) : undefined;
  if (typeof replicas !== "number" || !Number.isInteger(replicas)) {
    throw badRequest("spec.replicas of the Scale must be an integer");
  }
  if (replicas < 0) {
    throw invalid({ group: "autoscaling", kind: "Scale" }, call.path.name as string, [
      {
        field: "spec.replicas",
        reason: "FieldValueInvalid",
        message: `Invalid value: ${replicas}: must be greater than or equal to 0`,
      },
    ]);
  }
  return replicas;
}

/**
 * Throws for a custom object without replicas, because it has no Scale to read. A Scale may still be written to
 * it.
 * upstream: apiextensions-apiserver pkg/registry/customresource/etcd.go
 */
function checkReplicasSet(object: KubeObject, paths: ScalePaths): void {
  if (!isCustomObject(object)) return;
  if (valueAt(object, partsOf(paths.specReplicasPath)) !== undefined) return;
  const text = `the spec replicas field "${paths.specReplicasPath}" does not exist`;
  throw new ApiError(500, "InternalError", `Internal error occurred: ${text}`, {
    causes: [{ message: text }],
  });
}

function scaleOf(object: KubeObject, paths: ScalePaths): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = valueAt(object, partsOf(paths.specReplicasPath));
  const running = valueAt(object, partsOf(paths.statusReplicasPath));
  const selector =
    paths.labelSelectorPath === undefined
      ? undefined
      : valueAt(object, partsOf(paths.labelSelectorPath));
  const selectorText =
    typeof selector === "string"
      ? selector
      : isObject(selector)
        ? formatLabelSelector(selector as LabelSelector)
        : undefined;
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: clone({
      name,
      namespace,
      uid,
      resourceVersion,
      creationTimestamp,
    }) as Scale["metadata"],
    // Go omits the field `replicas` if it is 0.
    spec: Number(replicas ?? 0) === 0 ? {} : { replicas: Number(replicas) },
    status: {
      replicas: Number(running ?? 0),
      ...(selectorText === undefined ? {} : { selector: selectorText }),
    },
  } as Scale;
}

/** Whether the object is of a custom kind. Only then can it lack replicas, because built-in kinds have a default. */
function isCustomObject(object: KubeObject): boolean {
  return isCustom({ group: (object.apiVersion ?? "").split("/").slice(0, -1).join("/") });
}

/** The parts of a path such as `.spec.replicas`. */
function partsOf(path: string): readonly string[] {
  return path.split(".").filter((part) => part !== "");
}

function valueAt(object: unknown, path: readonly string[]): unknown {
  let value = object;
  for (const part of path) value = isObject(value) ? value[part] : undefined;
  return value;
}

function withValueAt(object: unknown, path: readonly string[], value: unknown): unknown {
  const [part, ...rest] = path;
  if (part === undefined) return value;
  const base = isObject(object) ? object : {};
  return { ...base, [part]: withValueAt(base[part], rest, value) };
}

function ok(body: unknown): KubeResponse {
  return { status: 200, headers: { "content-type": "application/json" }, body };
}

/**
 * How an object is shown: itself, a row of a Table (what `kubectl get` asks for) or its metadata
 * alone. The Accept header decides; what it names first and we can make is taken.
 */
import type { KubeObject } from "../../apis/meta.ts";
import { type Engine, groupVersionOf, isCustom } from "./engine.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import { ApiError } from "./status.ts";

export type Representation = "Object" | "Table" | "PartialObjectMetadata";

const META = "meta.k8s.io/v1";

/** 406 when nothing acceptable can be made. */
export function representationOf(accept: string | undefined): Representation {
  if (accept === undefined || accept === "") return "Object";
  for (const clause of accept.split(",")) {
    const [type = "", ...parameters] = clause.split(";").map((part) => part.trim());
    if (type !== "application/json" && type !== "*/*" && type !== "application/*") continue;
    const as = parameters.find((parameter) => parameter.startsWith("as="))?.slice(3);
    if (as === undefined) return "Object";
    if (as === "Table") return "Table";
    if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") {
      return "PartialObjectMetadata";
    }
  }
  throw new ApiError(
    406,
    "NotAcceptable",
    "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
    {},
  );
}

/** Table options of a request. */
export interface View {
  readonly as: Representation;
  /** What a row carries besides its cells. */
  readonly include: "Object" | "Metadata" | "None";
}

export function viewOf(accept: string | undefined, query: URLSearchParams): View {
  const include = query.get("includeObject");
  return {
    as: representationOf(accept),
    include: include === "Object" || include === "None" ? include : "Metadata",
  };
}

/** One object (already at the definition's version) as asked for. */
export function showObject(
  engine: Engine,
  definition: ResourceDefinition,
  view: View,
  object: KubeObject,
  withColumns = true,
): unknown {
  if (view.as === "Object") return object;
  if (view.as === "PartialObjectMetadata") return metadataOnly(object);
  const { resourceVersion } = object.metadata;
  return {
    kind: "Table",
    apiVersion: META,
    metadata: resourceVersion === undefined ? {} : { resourceVersion },
    columnDefinitions: withColumns ? definition.columns : null,
    rows: [rowOf(engine, definition, view, object)],
  };
}

export interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** A list as asked for. */
export function showList(
  engine: Engine,
  definition: ResourceDefinition,
  view: View,
  objects: readonly KubeObject[],
  metadata: ListMetadata,
): unknown {
  if (view.as === "Table") {
    return {
      kind: "Table",
      apiVersion: META,
      metadata,
      columnDefinitions: definition.columns,
      rows: objects.map((object) => rowOf(engine, definition, view, object)),
    };
  }
  if (view.as === "PartialObjectMetadata") {
    const items = objects.map(metadataOnly);
    return { kind: "PartialObjectMetadataList", apiVersion: META, metadata, items };
  }
  const apiVersion = groupVersionOf(definition);
  // Go does not repeat in each item of a built-in kind what the list says.
  const items = isCustom(definition)
    ? objects
    : objects.map(({ apiVersion: _v, kind: _k, ...rest }) => rest);
  return { kind: definition.listKind, apiVersion, metadata, items };
}

function rowOf(
  engine: Engine,
  definition: ResourceDefinition,
  view: View,
  object: KubeObject,
): unknown {
  const cells = definition.tableCells(object, engine.clock.now());
  if (view.include === "None") return { cells, object: null };
  return { cells, object: view.include === "Object" ? object : metadataOnly(object) };
}

function metadataOnly(object: KubeObject): KubeObject {
  return { kind: "PartialObjectMetadata", apiVersion: META, metadata: object.metadata };
}

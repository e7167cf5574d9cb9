/** The representation of an object: itself, a row of a Table (which `kubectl get` requests) or its metadata alone. */
import type { KubeObject } from "../../../apis/meta.ts";
import { type Call, type Engine, groupVersionOf, isCustom } from "../engine.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { type MetaVersion, negotiate, type Representation } from "./negotiation.ts";

/** The form in which a request wants its answer. */
export interface View {
  readonly as: Representation;
  readonly metaVersion: MetaVersion;
  /** What a row of a Table contains besides its cells. */
  readonly include: "Object" | "Metadata" | "None";
  /** Content type of the answer. */
  readonly mediaType: string;
}

/** The representation for this request. Throws 406 if none of the accepted forms is possible. */
export function viewOf(call: Call, shape: "one" | "many" | "stream"): View {
  const include = call.query.get("includeObject");
  const { as, metaVersion, mediaType } = negotiate(call.headers["accept"], {
    isCustom: isCustom(call.definition),
    shape,
  });
  return {
    as,
    metaVersion,
    mediaType,
    include: include === "Object" || include === "None" ? include : "Metadata",
  };
}

/** One object, in the definition's version, in the requested representation. */
export function showObject(
  engine: Engine,
  definition: ResourceDefinition,
  view: View,
  object: KubeObject,
  withColumns = true,
): unknown {
  if (view.as === "Object") return object;
  if (view.as === "PartialObjectMetadata") return metadataOnly(view, object);
  const { resourceVersion } = object.metadata;
  return {
    kind: "Table",
    apiVersion: metaOf(view),
    metadata: resourceVersion === undefined ? {} : { resourceVersion },
    columnDefinitions: withColumns ? definition.columns : null,
    rows: [rowOf(engine, definition, view, object)],
  };
}

/** `metadata` of a list. `continue` asks for the next page. */
export interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** A list in the requested representation. */
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
      apiVersion: metaOf(view),
      metadata,
      columnDefinitions: definition.columns,
      rows: objects.map((object) => rowOf(engine, definition, view, object)),
    };
  }
  if (view.as === "PartialObjectMetadata") {
    // Unlike other lists, Go writes an empty list of this kind as null.
    const items = objects.length === 0 ? null : objects.map((one) => metadataOnly(view, one));
    return { kind: "PartialObjectMetadataList", apiVersion: metaOf(view), metadata, items };
  }
  const apiVersion = groupVersionOf(definition);
  // In a list of a built-in kind, Go omits kind and version from each item.
  const items = isCustom(definition)
    ? objects
    : objects.map(({ apiVersion: _v, kind: _k, ...rest }) => rest);
  // The last page of a list of a custom kind has an empty `continue`.
  const about = isCustom(definition) ? { continue: "", ...metadata } : metadata;
  return { kind: definition.listKind, apiVersion, metadata: about, items };
}

function rowOf(
  engine: Engine,
  definition: ResourceDefinition,
  view: View,
  object: KubeObject,
): unknown {
  const cells = definition.tableCells(object, engine.clock.now());
  if (view.include === "None") return { cells, object: null };
  if (view.include === "Object") return { cells, object };
  return { cells, object: metadataOnly(view, withoutAnnotation(object, definition)) };
}

function withoutAnnotation(
  object: KubeObject,
  { innerAnnotation }: ResourceDefinition,
): KubeObject {
  if (innerAnnotation === undefined) return object;
  const { annotations, ...metadata } = object.metadata;
  const { [innerAnnotation]: _, ...others } = annotations ?? {};
  const left = Object.keys(others).length === 0 ? metadata : { ...metadata, annotations: others };
  return { ...object, metadata: left };
}

function metaOf({ metaVersion }: View): string {
  return `meta.k8s.io/${metaVersion}`;
}

function metadataOnly(view: View, { metadata }: KubeObject): KubeObject {
  return { kind: "PartialObjectMetadata", apiVersion: metaOf(view), metadata };
}

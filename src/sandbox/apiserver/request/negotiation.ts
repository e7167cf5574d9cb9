/**
 * Chooses the form of an answer: JSON, YAML or protobuf; the object, a Table of it, or its metadata. The Accept header
 * lists the forms that the client can read, best first. The first possible one is used.
 * upstream: apiserver pkg/endpoints/handlers/negotiation
 */
import { PROTOBUF } from "../protobuf/fields.ts";
import { ApiError } from "./status.ts";

/** Versions of Tables and partial metadata. */
export type MetaVersion = "v1" | "v1beta1";
/** How an answer shows objects: whole, as rows, or metadata only. */
export type Representation = "Object" | "Table" | "PartialObjectMetadata";

/** The form of the answer that the Accept header requested. */
export interface Negotiated {
  readonly as: Representation;
  /** Version of a Table or of metadata: `v1`, or `v1beta1` if the client asked for it. */
  readonly metaVersion: MetaVersion;
  /** The content type for the answer's header. */
  readonly mediaType: string;
}

/** The forms that are possible for the resource and the verb. */
export interface Offer {
  /** Whether the kind is custom. Objects of custom kinds cannot be protobuf; their metadata can. */
  readonly isCustom: boolean;
  readonly shape: "one" | "many" | "stream";
}

export const JSON_TYPE = "application/json";
export const YAML_TYPE = "application/yaml";

const ALL = [JSON_TYPE, YAML_TYPE, PROTOBUF];
const STREAMS = [`${JSON_TYPE};stream=watch`, `${PROTOBUF};stream=watch`];

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** Chooses the form of the answer from the header Accept. Throws 406 if none of the accepted forms is possible. */
export function negotiate(accept: string | undefined, offer: Offer): Negotiated {
  const clauses = clausesOf(accept);
  for (const clause of clauses) {
    const mediaType = ALL.find((type) => covers(clause.type, type));
    if (mediaType === undefined) continue;
    const as = representationOf(clause, mediaType, offer);
    if (as === undefined) continue;
    const metaVersion = clause.parameters.get("v") === "v1beta1" ? "v1beta1" : "v1";
    if (offer.shape !== "stream") return { as, metaVersion, mediaType };
    if (mediaType === YAML_TYPE) continue;
    const streamed = mediaType === PROTOBUF ? (STREAMS[1] as string) : mediaType;
    return { as, metaVersion, mediaType: streamed };
  }
  const isKnown = clauses.some(({ type }) => ALL.some((each) => covers(type, each)));
  throw notAcceptable(offer, isKnown);
}

/** The content type of an error answer. It never fails, because an error must always be answered. */
export function refusalType(accept: string | undefined): string {
  for (const clause of clausesOf(accept)) {
    const found = ALL.find((type) => covers(clause.type, type));
    if (found !== undefined && !clause.parameters.has("as")) return found;
  }
  return JSON_TYPE;
}

function representationOf(
  { parameters }: Clause,
  mediaType: string,
  { isCustom }: Offer,
): Representation | undefined {
  const as = parameters.get("as");
  switch (as) {
    case undefined:
      return mediaType === PROTOBUF && isCustom ? undefined : "Object";
    case "Table":
      return mediaType === PROTOBUF ? undefined : "Table";
    case "PartialObjectMetadata":
    case "PartialObjectMetadataList":
      return "PartialObjectMetadata";
    default:
      return undefined;
  }
}

function notAcceptable({ isCustom, shape }: Offer, isKnown: boolean): ApiError {
  if (isCustom || isKnown) {
    const accepted = shape === "stream" ? STREAMS : ALL;
    return new ApiError(
      406,
      "NotAcceptable",
      `only the following media types are accepted: ${accepted.join(", ")}`,
    );
  }
  const accepted = shape === "one" ? ALL : [...ALL, ...STREAMS];
  const text = `406: Not Acceptable\n\nAvailable representations: ${accepted.join(", ")}`;
  return new ApiError(406, "NotAcceptable", text, {});
}

/** The clauses by quality; equal ones in the order of the header. */
function clausesOf(accept: string | undefined): readonly Clause[] {
  return (accept || "*/*")
    .split(",")
    .map((text) => {
      const [type = "", ...rest] = text.split(";").map((part) => part.trim());
      const parameters = new Map(
        rest.map((part): [string, string] => {
          const [name = "", value = ""] = part.split("=");
          return [name, value];
        }),
      );
      return { type, parameters, quality: Number(parameters.get("q") ?? 1) };
    })
    .sort((left, right) => right.quality - left.quality);
}

function covers(pattern: string, type: string): boolean {
  return pattern === type || pattern === "*/*" || pattern === "application/*";
}

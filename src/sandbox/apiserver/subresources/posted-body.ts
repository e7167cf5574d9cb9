/**
 * Bodies that are posted and answered but never stored: requests for tokens, bindings, evictions, reviews. Like bodies
 * of stored objects, they are refused if a value has a wrong type.
 */
import { isObject } from "../../../base/json.ts";
import type { GroupVersionKind } from "../admission/admission-request.ts";
import { builtinKindSchema } from "../registry/builtin-data.ts";
import { badRequest } from "../request/status.ts";
import { decode } from "../schema/decode.ts";

/** The body as an object. Throws 400 if it is not an object, and for values of a wrong type. */
export function postedBody(
  { group, version, kind }: GroupVersionKind,
  body: unknown,
): Readonly<Record<string, unknown>> {
  if (!isObject(body)) {
    const groupVersion = group === "" ? version : `${group}/${version}`;
    throw badRequest(`the request body must be a JSON object: a ${kind} of ${groupVersion}`);
  }
  const schema = builtinKindSchema(group, version, kind);
  const problem = schema && decode(schema, body).problem;
  if (problem === undefined) return body;
  throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${problem}`);
}

/**
 * Decodes bodies in Kubernetes' protobuf encoding, in which kubectl and typed clients send built-in kinds. A
 * table of field numbers describes the messages. Values with their own JSON form (times, quantities,
 * int-or-string) are converted to it.
 */

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { parseBoundedJson } from "../../../base/bounded-json.ts";
import { toRfc3339, toRfc3339Micro } from "../../../base/clock.ts";
import { numberOfInt64 } from "../../../base/int64.ts";
import { setField } from "../../../base/json.ts";
import { ApiError, badRequest } from "../request/status.ts";
import { type Field, MAGIC, messageNamed, messageOf } from "./fields.ts";

/**
 * Numbers and booleans that are not pointers in Go: zero and false mean "not set", and JSON leaves them out.
 * For all others, such as `replicas`, zero is a value.
 */
const ZERO_IS_ABSENT: ReadonlySet<string> = new Set([
  "generation",
  "observedGeneration",
  "hostIPC",
  "hostNetwork",
  "hostPID",
  "stdin",
  "stdinOnce",
  "tty",
  "readOnly",
  "paused",
  "minReadySeconds",
  "hostPort",
  "nodePort",
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
  "publishNotReadyAddresses",
  "healthCheckNodePort",
  "unschedulable",
  "globalDefault",
  "count",
]);

/** The JSON value of a body. Throws 400 for an invalid body or an unknown kind. */
export function decodeProtobuf(body: Uint8Array): unknown {
  if ([...MAGIC].some((byte, index) => body[index] !== byte)) {
    const prefix = `expected prefix [${MAGIC.join(" ")}]`;
    throw unrecognized(`provided data does not appear to be a protobuf message, ${prefix}`, body);
  }
  if (body.length === MAGIC.length) throw unrecognized("empty body", body);
  let outer: ReturnType<typeof readUnknown>;
  try {
    outer = readUnknown(body.subarray(MAGIC.length));
  } catch {
    throw unrecognized("unexpected EOF", body);
  }
  try {
    return readObject(outer);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const { apiVersion, kind } = outer;
    const [version = ""] = apiVersion.split("/").slice(-1);
    const refused = `${kind} in version "${version}" cannot be handled as a ${kind}`;
    throw badRequest(`${refused}: ${problemOf(error)}`);
  }
}

/** Number of bytes of a body that an error shows. */
const SHOWN_BYTES = 64;

function unrecognized(why: string, body: Uint8Array): ApiError {
  const shown = Buffer.from(body.subarray(0, SHOWN_BYTES)).toString("hex");
  return badRequest(`the object provided is unrecognized: ${why} (${shown})`);
}

/** The text for invalid bytes. It is the text of Go's decoder where that is always the same. */
function problemOf(error: unknown): string {
  if (error instanceof SyntaxError) return "a part of it is no JSON";
  if (error instanceof DepthError) return error.message;
  return "unexpected EOF";
}

/** Maximum nesting of messages. */
const MAX_DEPTH = 100;

class DepthError extends Error {
  override readonly name = "DepthError";
}

function readObject(outer: ReturnType<typeof readUnknown>): unknown {
  const { apiVersion, kind } = outer;
  const message = messageOf(apiVersion, kind);
  if (messageNamed(message) === undefined) {
    throw badRequest(
      `${kind} in version "${apiVersion}" cannot be read as protobuf here; send application/json`,
    );
  }
  depth = 0;
  return { apiVersion, kind, ...(readMessage(message, outer.raw) as object) };
}

/** The nesting depth of the message that is being read. */
let depth = 0;

/**
 * Decodes one message. The depth is limited: JSON schemas can contain themselves, so a client could nest them
 * without end.
 */
function readMessage(message: string, bytes: Uint8Array): unknown {
  if (depth >= MAX_DEPTH) throw new DepthError(`it is nested more than ${MAX_DEPTH} deep`);
  depth++;
  const value = readFields(message, bytes);
  depth--;
  return value;
}

function readUnknown(bytes: Uint8Array): { apiVersion: string; kind: string; raw: Uint8Array } {
  const reader = new BinaryReader(bytes);
  const result = { apiVersion: "", kind: "", raw: new Uint8Array() as Uint8Array };
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === 1) {
      const type = new BinaryReader(reader.bytes());
      while (type.pos < type.len) {
        const [field, inner] = type.tag();
        if (field === 1) result.apiVersion = type.string();
        else if (field === 2) result.kind = type.string();
        else type.skip(inner);
      }
    } else if (number === 2) result.raw = reader.bytes();
    else reader.skip(wireType);
  }
  return result;
}

function readFields(message: string, bytes: Uint8Array): unknown {
  const special = readSpecial(message, bytes);
  if (special !== undefined) return special.value;
  const fields = messageNamed(message);
  const result: Record<string, unknown> = {};
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const field = fields?.get(number);
    if (field === undefined) reader.skip(wireType);
    else readField(field, reader, wireType, result);
  }
  return result;
}

function readField(
  field: Field,
  reader: BinaryReader,
  wireType: WireType,
  result: Record<string, unknown>,
): void {
  const { name, type, shape } = field;
  if (shape === "map") {
    const map = (result[name] ?? {}) as Record<string, unknown>;
    const [key, value] = readEntry(type, reader.bytes());
    setField(map, key, value);
    result[name] = map;
    return;
  }
  const value = readValue(type, reader, wireType);
  if (shape === "list") {
    const list = (result[name] ?? []) as unknown[];
    list.push(value);
    result[name] = list;
  } else if (field.isInline) Object.assign(result, value);
  else if (!isAbsent(name, value)) result[name] = value;
}

function isAbsent(name: string, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (value === "") return name !== "storageClassName";
  return (value === 0 || value === false) && ZERO_IS_ABSENT.has(name);
}

function readEntry(type: string, bytes: Uint8Array): [string, unknown] {
  const reader = new BinaryReader(bytes);
  let key = "";
  let value: unknown = type === "string" ? "" : undefined;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === 1) key = reader.string();
    else value = readValue(type, reader, wireType);
  }
  return [key, value];
}

function readValue(type: string, reader: BinaryReader, wireType: WireType): unknown {
  switch (type) {
    case "string":
      return reader.string();
    case "bool":
      return reader.bool();
    case "int32":
      return reader.int32();
    case "int64":
      return numberOfInt64(BigInt(reader.int64()));
    case "double":
      return reader.double();
    case "bytes":
      return Buffer.from(reader.bytes()).toString("base64");
    default:
      if (wireType !== WireType.LengthDelimited) {
        reader.skip(wireType);
        return undefined;
      }
      return readMessage(type, reader.bytes());
  }
}

/** Decodes a message that is a single value in JSON. Undefined for all other messages. */
function readSpecial(message: string, bytes: Uint8Array): { value: unknown } | undefined {
  switch (message) {
    case "meta.v1.Time":
    case "meta.v1.MicroTime": {
      const { 1: seconds = 0, 2: nanos = 0 } = scalars(bytes) as Record<number, number>;
      if (bytes.length === 0) return { value: undefined };
      const ms = seconds * 1_000 + Math.floor(nanos / 1_000_000);
      return { value: message === "meta.v1.Time" ? toRfc3339(ms) : toRfc3339Micro(ms) };
    }
    case "meta.v1.Duration":
      return { value: undefined };
    case "api.resource.Quantity":
      return { value: scalars(bytes)[1] ?? "0" };
    case "util.intstr.IntOrString": {
      const { 1: kind = 0, 2: number = 0, 3: text = "" } = scalars(bytes);
      return { value: kind === 0 ? number : text };
    }
    case "authentication.v1.ExtraValue":
    case "authorization.v1.ExtraValue":
    case "meta.v1.Verbs":
      return { value: readTexts(bytes) };
    case "apiextensions.v1.JSONSchemaPropsOrBool":
    case "apiextensions.v1.JSONSchemaPropsOrArray":
      return { value: readSchemaOr(bytes) };
    case "apiextensions.v1.JSON":
    case "runtime.RawExtension":
    case "meta.v1.FieldsV1": {
      const reader = new BinaryReader(bytes);
      if (reader.pos >= reader.len) return { value: undefined };
      reader.tag();
      return { value: parseBoundedJson(Buffer.from(reader.bytes()).toString("utf8")) };
    }
    default:
      return undefined;
  }
}

function readTexts(bytes: Uint8Array): readonly string[] {
  const reader = new BinaryReader(bytes);
  const texts: string[] = [];
  while (reader.pos < reader.len) {
    reader.tag();
    texts.push(reader.string());
  }
  return texts;
}

/** Decodes a schema, a list of schemas, or a boolean that allows or forbids everything. */
function readSchemaOr(bytes: Uint8Array): unknown {
  const reader = new BinaryReader(bytes);
  const schemas: unknown[] = [];
  let isAllowed: boolean | undefined;
  let isList = false;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.Varint) isAllowed = reader.bool();
    else {
      isList = number === 2 && isAllowed === undefined;
      schemas.push(readMessage("apiextensions.v1.JSONSchemaProps", reader.bytes()));
    }
  }
  if (isList) return schemas;
  return schemas[0] ?? isAllowed ?? false;
}

/** Decodes all fields of a message: varints as numbers, everything else as text. */
function scalars(bytes: Uint8Array): Record<number, number | string> {
  const reader = new BinaryReader(bytes);
  const result: Record<number, number | string> = {};
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.Varint) result[number] = numberOfInt64(BigInt(reader.int64()));
    else result[number] = reader.string();
  }
  return result;
}

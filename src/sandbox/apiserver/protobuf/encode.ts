/**
 * Encodes answers in Kubernetes' protobuf encoding, which typed clients of built-in kinds ask for. Fields are
 * written in the order of their numbers, as Go does. Values with their own JSON form (times, quantities,
 * int-or-string) become Go's messages.
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { LARGEST_INT64 } from "../../../base/int64.ts";
import { isObject } from "../../../base/json.ts";
import { type Field, MAGIC, type Message, messageNamed, messageOf } from "./fields.ts";

type Json = Readonly<Record<string, unknown>>;

/** True if objects of this kind can be encoded. */
export function isEncodable(apiVersion: string, kind: string): boolean {
  return messageNamed(messageOf(apiVersion, kind)) !== undefined;
}

/** The bytes of a body with apiVersion and kind. Throws for a kind that is not known. */
export function encodeProtobuf(body: Json): Uint8Array {
  const { apiVersion = "", kind = "" } = body as { apiVersion?: string; kind?: string };
  const name = messageOf(apiVersion, kind);
  const message = messageNamed(name);
  if (message === undefined) throw new Error(`${kind} of ${apiVersion} has no protobuf message`);
  const type = new BinaryWriter();
  type.tag(1, WireType.LengthDelimited).string(apiVersion);
  type.tag(2, WireType.LengthDelimited).string(kind);
  const unknown = new BinaryWriter();
  unknown.tag(1, WireType.LengthDelimited).bytes(type.finish());
  const inner = new BinaryWriter();
  writeMessage(inner, message, body);
  unknown.tag(2, WireType.LengthDelimited).bytes(inner.finish());
  unknown.tag(3, WireType.LengthDelimited).string("");
  unknown.tag(4, WireType.LengthDelimited).string("");
  return Buffer.concat([MAGIC, unknown.finish()]);
}

/** One frame of a watch: its length in four bytes, then the event. `object` is an encoded body. */
export function encodeWatchFrame(type: string, object: Uint8Array): Uint8Array {
  const raw = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(object).finish();
  const event = new BinaryWriter();
  event.tag(1, WireType.LengthDelimited).string(type);
  event.tag(2, WireType.LengthDelimited).bytes(raw);
  const bytes = event.finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function writeMessage(writer: BinaryWriter, message: Message, value: Json): void {
  for (const field of message.values()) {
    if (field.isInline) writeOne(writer, field.number, field.type, value);
    else writeField(writer, field, value[field.name]);
  }
}

function writeField(writer: BinaryWriter, field: Field, value: unknown): void {
  if (value === undefined || value === null) return;
  const { number, shape, type } = field;
  if (shape === "one") writeOne(writer, number, type, value);
  else if (shape === "list") {
    for (const item of value as readonly unknown[]) writeOne(writer, number, type, item);
  } else {
    for (const [key, item] of Object.entries(value as Json).sort(byKey)) {
      writer.tag(number, WireType.LengthDelimited).fork();
      writer.tag(1, WireType.LengthDelimited).string(key);
      if (item !== null) writeOne(writer, 2, type, item);
      writer.join();
    }
  }
}

function byKey([left]: [string, unknown], [right]: [string, unknown]): number {
  return left < right ? -1 : 1;
}

function writeOne(writer: BinaryWriter, number: number, type: string, value: unknown): void {
  switch (type) {
    case "string":
      writer.tag(number, WireType.LengthDelimited).string(String(value));
      return;
    case "bytes":
      writer.tag(number, WireType.LengthDelimited).bytes(Buffer.from(String(value), "base64"));
      return;
    case "bool":
      writer.tag(number, WireType.Varint).bool(value === true);
      return;
    case "int32":
      writer.tag(number, WireType.Varint).int32(int32(value));
      return;
    case "int64":
      writer.tag(number, WireType.Varint).int64(clamped(-LARGEST_INT64, LARGEST_INT64, value));
      return;
    case "double":
      writer.tag(number, WireType.Bit64).double(Number(value));
      return;
    default:
      writer.tag(number, WireType.LengthDelimited).fork();
      if (!writeSpecial(writer, type, value)) {
        const message = messageNamed(type);
        if (message !== undefined && isObject(value)) writeMessage(writer, message, value);
      }
      writer.join();
  }
}

/** Encodes a value whose JSON form is a single value. False for an ordinary message, which it does not write. */
function writeSpecial(writer: BinaryWriter, type: string, value: unknown): boolean {
  switch (type) {
    case "meta.v1.Time":
    case "meta.v1.MicroTime":
      writeTime(writer, String(value));
      return true;
    case "api.resource.Quantity":
      writer.tag(1, WireType.LengthDelimited).string(String(value));
      return true;
    case "util.intstr.IntOrString":
      writeIntOrString(writer, value);
      return true;
    case "runtime.RawExtension":
    case "meta.v1.FieldsV1":
    case "apiextensions.v1.JSON":
      writer.tag(1, WireType.LengthDelimited).bytes(Buffer.from(JSON.stringify(value)));
      return true;
    case "authentication.v1.ExtraValue":
    case "authorization.v1.ExtraValue":
    case "meta.v1.Verbs":
      for (const item of value as readonly string[])
        writer.tag(1, WireType.LengthDelimited).string(item);
      return true;
    case "apiextensions.v1.JSONSchemaPropsOrBool":
      writeEither(writer, value, typeof value !== "boolean");
      return true;
    case "apiextensions.v1.JSONSchemaPropsOrArray":
      writeSchema(writer, value);
      return true;
    default:
      return false;
  }
}

function int32(value: unknown): number {
  return clamped(-(2 ** 31), 2 ** 31 - 1, value);
}

/** A stored number as the nearest integer that the writer takes: it throws for all others. */
function clamped(least: number, most: number, value: unknown): number {
  return Math.trunc(Math.max(least, Math.min(most, Number(value)))) || 0;
}

/** A text that is no time becomes 1970, because the writer takes integers only. */
function writeTime(writer: BinaryWriter, text: string): void {
  const ms = Date.parse(withLongYear(`${text}`)) || 0;
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  writer.tag(1, WireType.Varint).int64(Math.floor(ms / 1_000));
  writer.tag(2, WireType.Varint).int32(Number(fraction.padEnd(9, "0").slice(0, 9)));
}

/** JavaScript reads years before 0 and after 9999 only with a sign and six digits. */
function withLongYear(text: string): string {
  return text.replace(/^([-+]?)(\d{4,6})(?=-\d\d-\d\dT)/, (year, sign: string, digits: string) =>
    sign === "" && digits.length === 4 ? year : `${sign || "+"}${digits.padStart(6, "0")}`,
  );
}

function writeIntOrString(writer: BinaryWriter, value: unknown): void {
  const isText = typeof value === "string";
  writer.tag(1, WireType.Varint).int64(isText ? 1 : 0);
  writer.tag(2, WireType.Varint).int32(isText ? 0 : int32(value));
  writer.tag(3, WireType.LengthDelimited).string(isText ? value : "");
}

/** Writes a schema or a boolean. The message of a schema also has the boolean, which is true. */
function writeEither(writer: BinaryWriter, value: unknown, isSchema: boolean): void {
  writer.tag(1, WireType.Varint).bool(isSchema || value === true);
  if (isSchema) writeOne(writer, 2, "apiextensions.v1.JSONSchemaProps", value);
}

function writeSchema(writer: BinaryWriter, value: unknown): void {
  if (!Array.isArray(value)) writeOne(writer, 1, "apiextensions.v1.JSONSchemaProps", value);
  else for (const item of value) writeOne(writer, 2, "apiextensions.v1.JSONSchemaProps", item);
}

/**
 * The OpenAPI v2 document in gnostic's protobuf format, which kubectl prefers. Only the parts that occur in
 * this server's document are written. The field numbers are those of gnostic's OpenAPIv2.proto.
 */
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { isObject } from "../../../base/json.ts";

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;

type Write = (writer: BinaryWriter) => void;
type Json = Readonly<Record<string, unknown>>;

/** Encodes a `swagger: "2.0"` document. */
export function encodeOpenapiV2(document: Json): Uint8Array {
  const writer = new BinaryWriter();
  text(writer, 1, document["swagger"]);
  message(writer, 2, (info) => {
    const { title, version } = document["info"] as Json;
    text(info, 1, title);
    text(info, 2, version);
  });
  message(writer, 8, (paths) => named(paths, 2, document["paths"] as Json, writePathItem));
  message(writer, 9, (all) => named(all, 1, document["definitions"] as Json, writeSchema));
  return writer.finish();
}

const METHOD_FIELDS: readonly (readonly [string, number])[] = [
  ["get", 2],
  ["put", 3],
  ["post", 4],
  ["delete", 5],
  ["patch", 8],
];

function writePathItem(writer: BinaryWriter, item: Json): void {
  for (const [method, field] of METHOD_FIELDS) {
    const operation = item[method] as Json | undefined;
    if (operation !== undefined) message(writer, field, (w) => writeOperation(w, operation));
  }
}

function writeOperation(writer: BinaryWriter, operation: Json): void {
  text(writer, 5, operation["operationId"]);
  for (const parameter of (operation["parameters"] as readonly Json[] | undefined) ?? []) {
    // The nested messages: ParametersItem > Parameter > NonBodyParameter > QueryParameterSubSchema.
    message(writer, 8, (item) =>
      message(item, 1, (one) =>
        message(one, 2, (nonBody) =>
          message(nonBody, 3, (query) => {
            text(query, 2, parameter["in"]);
            text(query, 4, parameter["name"]);
            text(query, 6, parameter["type"]);
          }),
        ),
      ),
    );
  }
  message(writer, 9, (responses) =>
    // The nested messages: Responses > NamedResponseValue > ResponseValue > Response.
    named(responses, 1, operation["responses"] as Json, (value, response) =>
      message(value, 1, (w) => text(w, 1, response["description"])),
    ),
  );
  extensions(writer, 13, operation);
}

function writeSchema(writer: BinaryWriter, schema: Json): void {
  text(writer, 1, schema["$ref"]);
  text(writer, 2, schema["format"]);
  text(writer, 4, schema["description"]);
  if (schema["default"] !== undefined) message(writer, 5, (w) => any(w, schema["default"]));
  double(writer, 7, schema["maximum"]);
  double(writer, 9, schema["minimum"]);
  integer(writer, 11, schema["maxLength"]);
  integer(writer, 12, schema["minLength"]);
  text(writer, 13, schema["pattern"]);
  integer(writer, 14, schema["maxItems"]);
  integer(writer, 15, schema["minItems"]);
  integer(writer, 17, schema["maxProperties"]);
  integer(writer, 18, schema["minProperties"]);
  for (const name of (schema["required"] as readonly string[] | undefined) ?? []) {
    text(writer, 19, name);
  }
  for (const value of (schema["enum"] as readonly unknown[] | undefined) ?? []) {
    message(writer, 20, (w) => any(w, value));
  }
  const each = schema["additionalProperties"];
  if (isObject(each))
    message(writer, 21, (w) => message(w, 1, (inner) => writeSchema(inner, each)));
  else if (each === true) message(writer, 21, (w) => w.tag(2, VARINT).bool(true));
  if (schema["type"] !== undefined) message(writer, 22, (w) => text(w, 1, schema["type"]));
  const { items } = schema;
  if (isObject(items))
    message(writer, 23, (w) => message(w, 1, (inner) => writeSchema(inner, items)));
  if (isObject(schema["properties"])) {
    const properties = schema["properties"];
    message(writer, 25, (w) => named(w, 1, properties, writeSchema));
  }
  extensions(writer, 31, schema);
}

/** Writes a map as a repeated message `{name = 1, value = 2}`. */
function named(
  writer: BinaryWriter,
  field: number,
  values: Json,
  write: (writer: BinaryWriter, value: Json) => void,
): void {
  for (const name of Object.keys(values)) {
    message(writer, field, (pair) => {
      text(pair, 1, name);
      message(pair, 2, (value) => write(value, values[name] as Json));
    });
  }
}

function extensions(writer: BinaryWriter, field: number, holder: Json): void {
  for (const name of Object.keys(holder)) {
    if (!name.startsWith("x-")) continue;
    message(writer, field, (pair) => {
      text(pair, 1, name);
      message(pair, 2, (value) => any(value, holder[name]));
    });
  }
}

/** Writes gnostic's Any, which holds YAML text. JSON is valid YAML. */
function any(writer: BinaryWriter, value: unknown): void {
  text(writer, 2, `${JSON.stringify(value)}\n`);
}

function message(writer: BinaryWriter, field: number, write: Write): void {
  writer.tag(field, BYTES).fork();
  write(writer);
  writer.join();
}

function text(writer: BinaryWriter, field: number, value: unknown): void {
  if (typeof value === "string" && value !== "") writer.tag(field, BYTES).string(value);
}

function integer(writer: BinaryWriter, field: number, value: unknown): void {
  if (typeof value === "number") writer.tag(field, VARINT).int64(value);
}

function double(writer: BinaryWriter, field: number, value: unknown): void {
  if (typeof value === "number") writer.tag(field, FIXED64).double(value);
}

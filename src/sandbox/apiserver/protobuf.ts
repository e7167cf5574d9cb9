/**
 * Reads request bodies in Kubernetes' protobuf encoding, which newer kubectl versions use for the
 * kinds they know. Only reading: answers are JSON, which every client also takes. Messages are walked
 * by a table of field numbers; what JSON spells in its own way (times, quantities, int-or-string) is
 * turned into that.
 */
import { readFileSync } from "node:fs";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { toRfc3339, toRfc3339Micro } from "../../base/clock.ts";
import { badRequest } from "./status.ts";

export const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** `k8s` and a zero byte begin every such body. */
const MAGIC = [0x6b, 0x38, 0x73, 0x00];

interface Field {
  readonly name: string;
  readonly type: string;
  readonly shape: "one" | "list" | "map";
  readonly isInline: boolean;
}

type Table = ReadonlyMap<string, ReadonlyMap<number, Field>>;

/**
 * Scalars without a pointer in Go: a zero of these means "not set" and JSON leaves it out. A zero of
 * any other (replicas) was meant.
 */
const ZERO_IS_ABSENT: ReadonlySet<string> = new Set([
  "deletionGracePeriodSeconds",
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

let loaded: Table | undefined;

/** The JSON value of a body. Throws 400 for what is not such a body or a kind that is not known. */
export function decodeProtobuf(body: Uint8Array): unknown {
  if (MAGIC.some((byte, index) => body[index] !== byte)) {
    throw badRequest(
      `the request body is not ${PROTOBUF}: it does not begin with its magic number`,
    );
  }
  const table = fieldTable();
  const outer = readUnknown(body.subarray(MAGIC.length));
  const { apiVersion, kind } = outer;
  const message = messageOf(apiVersion, kind);
  if (!table.has(message)) {
    throw badRequest(
      `${kind} in version "${apiVersion}" cannot be read as protobuf here; send application/json`,
    );
  }
  return { apiVersion, kind, ...(readMessage(table, message, outer.raw) as object) };
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

/** `apps/v1`, `Deployment` → `apps.v1.Deployment`; `rbac.authorization.k8s.io/v1` → `rbac.v1`. */
function messageOf(apiVersion: string, kind: string): string {
  if (kind === "DeleteOptions") return "meta.v1.DeleteOptions";
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["core", apiVersion];
  return `${(group as string).split(".")[0]}.${version}.${kind}`;
}

function fieldTable(): Table {
  if (loaded !== undefined) return loaded;
  const url = new URL("../../../data/kubernetes/protobuf-fields.json", import.meta.url);
  const raw = JSON.parse(readFileSync(url, "utf8")) as Record<string, Record<string, string>>;
  const table = new Map<string, ReadonlyMap<number, Field>>();
  for (const [message, fields] of Object.entries(raw)) {
    const entries = Object.entries(fields).map(
      ([number, text]) => [Number(number), parseField(text)] as const,
    );
    table.set(message, new Map(entries));
  }
  loaded = table;
  return table;
}

function parseField(text: string): Field {
  const isInline = text.startsWith("!");
  const [name, type] = text.replace("!", "").split(" ") as [string, string];
  const shape = type.endsWith("[]") ? "list" : type.endsWith("{}") ? "map" : "one";
  return { name, type: type.replace(/\[\]$|\{\}$/, ""), shape, isInline };
}

function readMessage(table: Table, message: string, bytes: Uint8Array): unknown {
  const special = readSpecial(message, bytes);
  if (special !== undefined) return special.value;
  const fields = table.get(message);
  const result: Record<string, unknown> = {};
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const field = fields?.get(number);
    if (field === undefined) reader.skip(wireType);
    else readField(table, field, reader, wireType, result);
  }
  return result;
}

function readField(
  table: Table,
  field: Field,
  reader: BinaryReader,
  wireType: WireType,
  result: Record<string, unknown>,
): void {
  const { name, type, shape } = field;
  if (shape === "map") {
    const map = (result[name] ?? {}) as Record<string, unknown>;
    const [key, value] = readEntry(table, type, reader.bytes());
    map[key] = value;
    result[name] = map;
    return;
  }
  const value = readValue(table, type, reader, wireType);
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

function readEntry(table: Table, type: string, bytes: Uint8Array): [string, unknown] {
  const reader = new BinaryReader(bytes);
  let key = "";
  let value: unknown = type === "string" ? "" : undefined;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === 1) key = reader.string();
    else value = readValue(table, type, reader, wireType);
  }
  return [key, value];
}

function readValue(table: Table, type: string, reader: BinaryReader, wireType: WireType): unknown {
  switch (type) {
    case "string":
      return reader.string();
    case "bool":
      return reader.bool();
    case "int32":
      return reader.int32();
    case "int64":
      return Number(reader.int64());
    case "double":
      return reader.double();
    case "bytes":
      return Buffer.from(reader.bytes()).toString("base64");
    default:
      if (wireType !== WireType.LengthDelimited) {
        reader.skip(wireType);
        return undefined;
      }
      return readMessage(table, type, reader.bytes());
  }
}

/** Messages that JSON spells as one value. `undefined` = an ordinary message. */
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
    case "runtime.RawExtension":
    case "meta.v1.FieldsV1": {
      const reader = new BinaryReader(bytes);
      if (reader.pos >= reader.len) return { value: undefined };
      reader.tag();
      return { value: JSON.parse(Buffer.from(reader.bytes()).toString("utf8")) };
    }
    default:
      return undefined;
  }
}

/** Varints as numbers, everything else as text. */
function scalars(bytes: Uint8Array): Record<number, number | string> {
  const reader = new BinaryReader(bytes);
  const result: Record<number, number | string> = {};
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.Varint) result[number] = Number(reader.int64());
    else result[number] = reader.string();
  }
  return result;
}

/**
 * The field numbers of Kubernetes' messages, from data/kubernetes/protobuf-fields.json. A message is named by
 * group, version and kind (`apps.v1.Deployment`). Lists have no entries of their own, because they all have
 * the same fields.
 */
import { readFileSync } from "node:fs";

export const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** Every body begins with `k8s` and a zero byte. */
export const MAGIC: Uint8Array = new Uint8Array([0x6b, 0x38, 0x73, 0x00]);

/** One field of a protobuf message. */
export interface Field {
  readonly number: number;
  /** The field's name in JSON. */
  readonly name: string;
  /** A scalar or the name of a message. */
  readonly type: string;
  readonly shape: "one" | "list" | "map";
  /** Whether in JSON the fields of this message are part of the surrounding object. */
  readonly isInline: boolean;
}

/** Fields by number. */
export type Message = ReadonlyMap<number, Field>;

let loaded: Map<string, Message> | undefined;

/** The fields of a message in the order of their numbers; undefined if it is unknown. */
export function messageNamed(name: string): Message | undefined {
  const table = messages();
  const known = table.get(name);
  if (known !== undefined || !name.endsWith("List")) return known;
  const item = name.slice(0, -"List".length);
  if (!table.has(item)) return undefined;
  const list: Message = new Map([
    [1, field(1, "metadata meta.v1.ListMeta")],
    [2, field(2, `items ${item}[]`)],
  ]);
  table.set(name, list);
  return list;
}

/**
 * The name of a message: `apps/v1`, `Deployment` → `apps.v1.Deployment`; `rbac.authorization.k8s.io/v1` → `rbac.v1`.
 */
export function messageOf(apiVersion: string, kind: string): string {
  if (kind === "DeleteOptions" || kind === "WatchEvent") return `meta.v1.${kind}`;
  if (apiVersion === "v1" && EVERYWHERE.has(kind)) return `meta.v1.${kind}`;
  if (apiVersion === "meta.k8s.io/v1") return `meta.v1.${kind}`;
  const [group = "", version] = apiVersion.includes("/")
    ? apiVersion.split("/")
    : ["core", apiVersion];
  // A user's group `apps.example.com` is not Kubernetes' `apps`.
  const [name, ...rest] = group.split(".");
  if (rest.length > 0 && !group.endsWith(".k8s.io")) return "";
  return `${name}.${version}.${kind}`;
}

/** Kinds of apiVersion `v1` whose message is in `meta.v1` instead of `core.v1`. */
const EVERYWHERE: ReadonlySet<string> = new Set([
  "Status",
  "APIVersions",
  "APIGroupList",
  "APIGroup",
  "APIResourceList",
]);

function messages(): Map<string, Message> {
  if (loaded !== undefined) return loaded;
  const url = new URL("../../../../data/kubernetes/protobuf-fields.json", import.meta.url);
  const raw = JSON.parse(readFileSync(url, "utf8")) as Record<string, Record<string, string>>;
  loaded = new Map(
    Object.entries(raw).map(([message, fields]) => [
      message,
      new Map(
        Object.entries(fields).map(([number, text]) => [
          Number(number),
          field(Number(number), text),
        ]),
      ),
    ]),
  );
  return loaded;
}

function field(number: number, text: string): Field {
  const isInline = text.startsWith("!");
  const [name, type] = text.replace("!", "").split(" ") as [string, string];
  const shape = type.endsWith("[]") ? "list" : type.endsWith("{}") ? "map" : "one";
  return { number, name, type: type.replace(/\[\]$|\{\}$/, ""), shape, isInline };
}

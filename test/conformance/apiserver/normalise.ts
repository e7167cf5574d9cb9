/**
 * Removes from an answer what differs between two equal servers: ids, times, versions, random name endings, ages.
 * Each value becomes a placeholder, numbered in order of appearance within the check. So "the same version as
 * before" and "a new version" stay distinct.
 */

type Json = unknown;

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TOKEN = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** Versions inside the text of a refusal, which no field marks as versions. */
const EMBEDDED_VERSION =
  /(\\"resourceVersion\\":\\"|in record \(|in object meta: |larger than the latest version: |too old resource version: |, current: )\d+( \(\d+)?/g;
/** Fields whose items come in the order of a cache. */
const UNORDERED: ReadonlySet<string> = new Set(["resourceRules", "nonResourceRules"]);
/** Descriptions of all other columns are Kubernetes' own sentences, which this project does not repeat. */
const CUSTOM_COLUMN = "Custom resource definition column";
/** The server chooses addresses of services and node ports at random. */
const SERVICE_ADDRESS = /^10\.\d+\.\d+\.\d+$/;
const GIVEN_PORTS: ReadonlySet<string> = new Set(["nodePort", "healthCheckNodePort"]);
const EMBEDDED_OBJECT = /(?<=Invalid value: )"(?:[^"\\]|\\.)*"/g;

export class Normaliser {
  readonly #ids = new Map<string, string>();
  readonly #versions = new Map<string, string>();
  readonly #prefixes = new Set(["kube-api-access-"]);

  readonly #webhooks: { readonly url: string; readonly caBundle: string };

  constructor(webhooks: { readonly url: string; readonly caBundle: string }) {
    this.#webhooks = webhooks;
  }

  /** From now on, names with this prefix are taken to end at random. */
  expectNames(prefix: string): void {
    this.#prefixes.add(prefix);
  }

  answer(value: Json): Json {
    return this.#value(value, "", undefined);
  }

  #value(value: Json, key: string, parent: Record<string, Json> | undefined): Json {
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#value(item, key, undefined));
      if (key === "managedFields") return items.sort(byManager);
      return UNORDERED.has(key) ? items.sort(byText) : items;
    }
    if (typeof value === "object" && value !== null) {
      const fields = value as Record<string, Json>;
      return Object.fromEntries(
        Object.entries(fields).map(([name, field]) => [
          name.replaceAll(UUID, (id) => numbered(this.#ids, id, "uid")),
          this.#value(field, name, fields),
        ]),
      );
    }
    if (GIVEN_PORTS.has(key)) return "<port>";
    return typeof value === "string" ? this.#text(value, key, parent) : value;
  }

  #text(text: string, key: string, parent: Record<string, Json> | undefined): string {
    if (key === "resourceVersion" && text !== "") {
      // A list's version belongs to the whole server, to which other clients write too.
      if (parent?.["name"] === undefined && parent?.["uid"] === undefined) return "<list version>";
      return numbered(this.#versions, text, "version");
    }
    if (SERVICE_ADDRESS.test(text)) return "<address>";
    if (key === "cells") text = text.replace(/^(\d+):\d+\/TCP$/, "$1:<port>/TCP");
    if (key === "continue") return "<continue>";
    if (key === "description" && !text.startsWith(CUSTOM_COLUMN)) return "<description>";
    if (key === "cells" && /^(\d+[smh])+$/.test(text)) return "<age>";
    let result = sortEmbedded(text)
      .replaceAll(this.#webhooks.url, "<webhooks>")
      .replaceAll(this.#webhooks.caBundle, "<ca>")
      .replaceAll(UUID, (id) => numbered(this.#ids, id, "uid"))
      .replaceAll(TOKEN, "<token>")
      .replaceAll(TIME, "<time>")
      .replaceAll(EMBEDDED_VERSION, "$1<version>");
    for (const prefix of this.#prefixes)
      result = result.replaceAll(new RegExp(`${prefix}[a-z0-9]{5}\\b`, "g"), `${prefix}<random>`);
    return result;
  }
}

function numbered(known: Map<string, string>, text: string, what: string): string {
  const found = known.get(text) ?? `<${what} ${known.size + 1}>`;
  known.set(text, found);
  return found;
}

function byText(left: Json, right: Json): number {
  return JSON.stringify(left) < JSON.stringify(right) ? -1 : 1;
}

/** Entries of the same second have no defined order, so they are sorted by their fields. */
function byManager(left: Json, right: Json): number {
  const key = (entry: Json): string => {
    const { manager, operation, subresource, apiVersion } = entry as Record<string, string>;
    return [manager, operation, subresource ?? "", apiVersion].join(" ");
  };
  return key(left) < key(right) ? -1 : 1;
}

/** A refused patch quotes the whole object, whose fields have no defined order. */
function sortEmbedded(text: string): string {
  return text.replaceAll(EMBEDDED_OBJECT, (quoted) => {
    try {
      return JSON.stringify(JSON.stringify(sorted(JSON.parse(JSON.parse(quoted)))));
    } catch {
      return quoted;
    }
  });
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, field]) => [key, sorted(field)]));
}

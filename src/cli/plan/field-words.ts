/**
 * Error texts for fields of a manifest: where an unknown field belongs or what was probably meant, how to write a
 * duration in days, and an example for a pattern. All other texts are the API server's.
 */
import { AWS_WELL_KNOWN_LABELS } from "../../apis/aws/labels.ts";
import { WELL_KNOWN_LABELS } from "../../apis/karpenter/labels.ts";
import { durationHint } from "../../base/duration.ts";
import { isObject } from "../../base/json.ts";
import { meantName } from "../../base/slips.ts";
import { KWOK_WELL_KNOWN_LABELS } from "../../providers/kwok/instance-types.ts";
import { printFieldError } from "../../sandbox/apiserver/schema/field-error.ts";
import type { FieldError, Schema } from "../../sandbox/apiserver/schema/schema.ts";
import { exampleOf } from "./pattern-examples.ts";

/**
 * The error for an unknown field: `spec.replica: unknown field; did you mean replicas?`. `path` comes from the
 * schema's reader.
 */
export function unknownFieldText(schema: Schema, path: string): string {
  const steps = path.split(/\.|(?=\[)/).filter((step) => step !== "");
  const name = steps.at(-1) ?? "";
  const siblings = Object.keys(schemaAt(schema, steps.slice(0, -1))?.properties ?? {});
  const meant = meantName(name, siblings);
  if (meant !== undefined) return `${path}: unknown field; did you mean ${meant}?`;
  const elsewhere = placesOf(schema, name);
  const [place] = elsewhere;
  return place === undefined || elsewhere.length > MOST_PLACES
    ? `${path}: unknown field`
    : `${path}: unknown field; it belongs to ${elsewhere.join(" or ")}`;
}

/** Maximum number of places that are suggested. More would not help. */
const MOST_PLACES = 2;
/** Depth to which fields are searched. */
const MOST_DEPTH = 6;

function schemaAt(schema: Schema, steps: readonly string[]): Schema | undefined {
  let at: Schema | undefined = schema;
  for (const step of steps) {
    const each: Schema["additionalProperties"] = at?.additionalProperties;
    at = step.startsWith("[")
      ? at?.items
      : (at?.properties?.[step] ?? (typeof each === "object" ? each : undefined));
  }
  return at;
}

/** Paths of fields with this name. Only below `spec`, because `metadata` and `status` have many common names. */
function placesOf(schema: Schema, name: string): string[] {
  const places: string[] = [];
  const look = (at: Schema, path: string, depth: number): void => {
    if (at.items !== undefined) look(at.items, `${path}[]`, depth);
    if (depth === MOST_DEPTH) return;
    for (const [key, child] of Object.entries(at.properties ?? {})) {
      const below = `${path}.${key}`;
      if (key === name) places.push(below);
      look(child, below, depth + 1);
    }
  };
  const spec = schema.properties?.["spec"];
  if (spec !== undefined) look(spec, "spec", 1);
  return places;
}

/**
 * One line with field, value and message: `spec.template.spec.expireAfter: "14d": a duration has no days …`. A value
 * that does not match the field's pattern gets an example. Without a hint, the line is the API server's.
 */
export function fieldErrorText(error: FieldError, object: unknown): string {
  const { field, message } = error;
  const resource = NO_CONTAINER_RESOURCE.exec(message)?.[1];
  if (resource !== undefined) {
    // A device name without its domain is suggested before a similar word: for `gpu`, `nvidia.com/gpu` and not `cpu`.
    const device = CONTAINER_RESOURCES.find((one) => one.endsWith(`/${resource}`));
    const known = device ?? meantName(resource, CONTAINER_RESOURCES);
    return `${printFieldError(error)}${known === undefined ? "" : `; did you mean ${known}?`}`;
  }
  const value = valueAt(object, field);
  if (typeof value !== "string") return printFieldError(error);
  const hint = DURATION_PATTERN.test(message) ? durationHint(value) : undefined;
  if (hint !== undefined) return `${field}: ${JSON.stringify(value)}: ${hint}`;
  const example = exampleOf(PATTERN.exec(message)?.[1] ?? "");
  if (example !== undefined)
    return `${printFieldError(error)}; write for example ${JSON.stringify(example)}`;
  if (!LABEL_DOMAIN.test(message)) return printFieldError(error);
  // A CEL rule's error shows the type of the value instead of the value.
  const shown = message.replace(
    'Invalid value: "string"',
    `Invalid value: ${JSON.stringify(value)}`,
  );
  const meant = meantName(value, KNOWN_LABELS);
  return `${field}: ${shown}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
}

/** Matches the error for a container resource that Kubernetes does not know and whose name has no domain. */
const NO_CONTAINER_RESOURCE =
  /^Invalid value: "([^"]*)": must be a standard resource for containers/;
const CONTAINER_RESOURCES = ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"];
/** Matches the error for a value that does not match the pattern of its field. */
const PATTERN = /should match '(.*)'$/s;
/** How Karpenter's CRDs describe durations in errors. */
const DURATION_PATTERN = /should match '.*\(s\|m\|h\)/;
const LABEL_DOMAIN = /^Invalid value: .*label domain "[^"]*" is restricted/;
/** Well-known labels of all providers, which requirements may use. */
export const KNOWN_LABELS: readonly string[] = [
  ...WELL_KNOWN_LABELS,
  ...AWS_WELL_KNOWN_LABELS,
  ...KWOK_WELL_KNOWN_LABELS,
];

/**
 * The known label that was probably meant by a key: either its domain or its name is misspelt. Undefined: the key is
 * known, or no known label is like it.
 */
export function meantLabel(key: string): string | undefined {
  if (KNOWN_LABELS.includes(key)) return undefined;
  const [domain, name] = splitKey(key);
  const sameDomain = KNOWN_LABELS.filter((known) => splitKey(known)[0] === domain);
  const meantByName = meantName(
    name,
    sameDomain.map((known) => splitKey(known)[1]),
  );
  if (meantByName !== undefined) return domain === "" ? meantByName : `${domain}/${meantByName}`;
  const sameName = KNOWN_LABELS.filter((known) => splitKey(known)[1] === name);
  const meantDomain = meantName(
    domain,
    sameName.map((known) => splitKey(known)[0]),
  );
  return meantDomain === undefined ? undefined : `${meantDomain}/${name}`;
}

function splitKey(key: string): readonly [domain: string, name: string] {
  const at = key.lastIndexOf("/");
  return [key.slice(0, Math.max(0, at)), key.slice(at + 1)];
}

/** True for the error that CEL rules were skipped. It is left out, because other errors say why. */
export function isRemark({ field, message }: FieldError): boolean {
  return field === "<nil>" && message.includes("some validation rules were not checked");
}

function valueAt(object: unknown, path: string): unknown {
  let at: unknown = object;
  for (const step of path.split(/\.|(?=\[)/)) {
    const index = /^\[(\d+)\]$/.exec(step)?.[1];
    if (index !== undefined) at = Array.isArray(at) ? at[Number(index)] : undefined;
    else at = isObject(at) ? at[step] : undefined;
  }
  return at;
}

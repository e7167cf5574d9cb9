/**
 * The schemas of all known kinds, and what an object says that its schema does not have: values of wrong types and
 * unknown fields. `plan` refuses these fields, `convert` warns about the unknown ones.
 */
import { AWS_NODE_TEMPLATE } from "../../apis/aws/awsnodetemplate.ts";
import { customResourceDefinitions } from "../../apis/crds/all.ts";
import { verticalPodAutoscalerDefinition } from "../../apis/crds/vertical-pod-autoscalers.ts";
import { PROVISIONER } from "../../apis/karpenter/provisioner.ts";
import { apiVersionOf, type KubeObject } from "../../apis/meta.ts";
import { isObject } from "../../base/json.ts";
import {
  createRegistry,
  type MutableRegistry,
} from "../../sandbox/apiserver/registry/create-registry.ts";
import type { ResourceDefinition } from "../../sandbox/apiserver/resource-definition.ts";
import type { WrongValue } from "../../sandbox/apiserver/schema/decode.ts";
import { shownValue } from "../program/shown.ts";
import { unknownFieldText } from "./field-words.ts";
import { groupOf } from "./looked-at.ts";
import { withoutField } from "./without-field.ts";

let kinds: MutableRegistry | undefined;

/** The registry of known kinds. Created once, because that takes 0.1 s. Never changed. */
export function knownKinds(): MutableRegistry {
  if (kinds === undefined) {
    kinds = createRegistry({ kubernetesVersion: "1.34" });
    kinds.setCrds([...customResourceDefinitions(), verticalPodAutoscalerDefinition()]);
  }
  return kinds;
}

/** The definition of the object's kind. Undefined: the kind or its version is not known. */
export function definitionOf({
  apiVersion = "",
  kind = "",
}: KubeObject): ResourceDefinition | undefined {
  return knownKinds().findKind(groupOf(apiVersion), apiVersion.split("/").at(-1) as string, kind);
}

/** An object as its schema reads it. */
interface Readable {
  /** The object without unknown fields and without values of wrong types. */
  readonly value: KubeObject;
  /** A sentence for each value of a wrong type. */
  readonly wrongTypes: readonly string[];
  /** The paths of the values of wrong types. */
  readonly wrong: ReadonlySet<string>;
  /** The paths of the unknown fields. */
  readonly unknown: readonly string[];
  /** False if a wrong value could not be removed, so that the rest of the object was not read. */
  readonly isWhole: boolean;
}

/** Maximum number of values of wrong types that are reported for one object. */
const MOST_WRONG = 10;

/**
 * Decodes an object with its schema and collects the errors. A decoder stops at the first value of a wrong type. So
 * that value (its path is in `wrong`) is removed, and the object is decoded again.
 */
export function readable(definition: ResourceDefinition, object: KubeObject): Readable {
  const wrongTypes: string[] = [];
  const wrong = new Set<string>();
  let read = definition.prune(object);
  while (read.malformed !== undefined) {
    wrongTypes.push(read.wrong === undefined ? read.malformed : wrongText(read.wrong));
    const path = read.wrong?.path;
    const rest = path === undefined ? undefined : withoutField(read.value, path);
    if (path === undefined || rest === undefined || wrong.has(path) || wrong.size === MOST_WRONG)
      return { value: read.value, wrongTypes, wrong, unknown: read.unknown, isWhole: false };
    wrong.add(path);
    read = definition.prune(rest as KubeObject);
  }
  return { value: read.value, wrongTypes, wrong, unknown: read.unknown, isWhole: true };
}

/** An unknown field: its path, and the sentence about it. */
export interface UnknownField {
  readonly path: string;
  readonly text: string;
}

/**
 * The unknown fields of an object of Karpenter, also in the AWS fields of a Provisioner (`spec.provider`). The kind
 * selects the schema of a Provisioner and an AWSNodeTemplate, whatever the apiVersion is.
 */
export function unknownFields(object: KubeObject): readonly UnknownField[] {
  const alpha = [PROVISIONER, AWS_NODE_TEMPLATE].find(({ kind }) => kind === object.kind);
  const versioned = alpha === undefined ? object : { ...object, apiVersion: apiVersionOf(alpha) };
  const definition = definitionOf(versioned);
  if (definition === undefined) return [];
  const own = readable(definition, versioned).unknown.map((path) => ({
    path,
    text: unknownFieldText(definition.schema, path),
  }));
  return object.kind === PROVISIONER.kind ? [...own, ...unknownInBlock(object)] : own;
}

/**
 * The unknown AWS fields of a Provisioner, by the schema of AWSNodeTemplate, because the Provisioner's own schema does
 * not describe them.
 */
function unknownInBlock({ spec }: KubeObject & { readonly spec?: unknown }) {
  const provider = isObject(spec) ? spec["provider"] : undefined;
  if (!isObject(provider)) return [];
  const { kind } = AWS_NODE_TEMPLATE;
  const template = { kind, metadata: { name: "provider" }, spec: provider };
  const moved = (text: string) => text.replace(/^spec\b/, "spec.provider");
  return unknownFields(template as KubeObject).map(({ path, text }) => ({
    path: moved(path),
    text: moved(text),
  }));
}

/** The error for a wrong type: `spec.replicas: wanted a whole number, got "three"`. */
function wrongText({ path, value, wanted }: WrongValue): string {
  const kind = /^(\[\]|u?int|float)/.exec(wanted)?.[1] ?? "";
  const isBeyond = wanted === "int32" && Number.isInteger(value);
  const words = isBeyond ? INT32 : (WANTED[wanted] ?? WANTED[kind] ?? "an object");
  // Hints at missing quotes for values such as `name: on` or `disk: 1`.
  const unquoted = wanted === "string" && typeof value !== "object" ? "; put it in quotes" : "";
  return `${path}: wanted ${words}, got ${shownValue(value)}${unquoted}`;
}

const INT32 = `a whole number from ${-(2 ** 31)} to ${2 ** 31 - 1}`;
const WANTED: Readonly<Record<string, string>> = {
  string: "a string",
  bool: "true or false",
  quantity: 'a quantity such as "2", "500m" or "8Gi"',
  time: "a time such as 2026-01-31T12:00:00Z",
  "[]": "a list",
  int: "a whole number",
  uint: "a whole number",
  float: "a number",
};

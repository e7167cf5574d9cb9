/**
 * Rules of ConfigMaps and Secrets. `stringData` of a Secret becomes `data`. If an object is marked immutable,
 * its `data` and the mark cannot change.
 * upstream: pkg/apis/core/validation ValidateConfigMapUpdate, ValidateSecretUpdate
 */
import { deepEqual, setField } from "../../../base/json.ts";
import { forbidden, invalid, tooLong } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { validateImmutable } from "./selector-rules.ts";

const MAX_BYTES = 1_024 * 1_024;
const KEY_TEXT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " +
  "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** Validation of a ConfigMap. */
export const CONFIG_MAP_RULES: KindRules = {
  validate: (map, current) => [
    ...validateKeys(map),
    ...validateSize([...valuesOf(map.data), ...valuesOf(map.binaryData, "base64")], "[]"),
    ...validateKeptImmutable(map, current),
  ],
};

/** Defaults and validation of a Secret. */
export const SECRET_RULES: KindRules = {
  defaults(secret) {
    fallback(secret, "type", "Opaque");
    mergeStringData(secret);
  },
  validate(secret, current) {
    const errors = [
      ...validateKeys(secret),
      ...validateSize(valuesOf(secret.data, "base64"), "data"),
      ...validateKeptImmutable(secret, current),
    ];
    if (current !== undefined) errors.push(...validateImmutable(secret.type, current.type, "type"));
    return errors;
  },
};

function mergeStringData(secret: Raw): void {
  if (secret.stringData === undefined) return;
  secret.data ??= {};
  for (const key of Object.keys(secret.stringData)) {
    setField(secret.data, key, Buffer.from(secret.stringData[key], "utf8").toString("base64"));
  }
  delete secret.stringData;
}

/** Errors of the keys. upstream: apimachinery pkg/util/validation IsConfigMapKey */
function validateKeys(object: Raw): FieldError[] {
  const errors: FieldError[] = [];
  for (const part of ["data", "binaryData"]) {
    for (const key of Object.keys(object[part] ?? {}).sort()) {
      if (key.length > 253)
        errors.push(invalid(`${part}[${key}]`, key, "must be no more than 253 characters"));
      if (!/^[-._a-zA-Z0-9]+$/.test(key)) errors.push(invalid(`${part}[${key}]`, key, KEY_TEXT));
      else if (key === "." || key === ".." || key.startsWith(".."))
        errors.push(invalid(`${part}[${key}]`, key, `must not be '${key}'`));
    }
  }
  return errors;
}

/** Sizes of values in bytes. */
function valuesOf(values: Raw, encoding: "utf8" | "base64" = "utf8"): readonly number[] {
  return Object.values((values ?? {}) as Record<string, string>).map((value) =>
    Buffer.byteLength(value, encoding),
  );
}

/** The sum of all values is limited, because etcd limits the size of an object. */
function validateSize(sizes: readonly number[], field: string): FieldError[] {
  const sum = sizes.reduce((total, size) => total + size, 0);
  return sum > MAX_BYTES ? [tooLong(field, MAX_BYTES)] : [];
}

function validateKeptImmutable(object: Raw, current: Raw | undefined): FieldError[] {
  if (current?.immutable !== true) return [];
  const text = "field is immutable when `immutable` is set";
  const isLifted = object.immutable !== true ? [forbidden("immutable", text)] : [];
  const changed = ["data", "binaryData"].filter((key) => !deepEqual(object[key], current[key]));
  return [...isLifted, ...changed.map((key) => forbidden(key, text))];
}

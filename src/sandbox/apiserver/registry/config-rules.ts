/**
 * ConfigMaps and Secrets: plain text of a Secret becomes data, and what is marked immutable stays.
 * upstream: pkg/apis/core/validation ValidateConfigMapUpdate, ValidateSecretUpdate
 */
import { deepEqual } from "../../../base/json.ts";
import { forbidden } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { validateImmutable } from "./selector-rules.ts";

export const CONFIG_MAP_RULES: KindRules = {
  validate: (map, current) => validateKeptImmutable(map, current),
};

export const SECRET_RULES: KindRules = {
  defaults(secret) {
    fallback(secret, "type", "Opaque");
  },
  prepareCreate: mergeStringData,
  prepareUpdate: mergeStringData,
  validate(secret, current) {
    const errors = validateKeptImmutable(secret, current);
    if (current !== undefined) errors.push(...validateImmutable(secret.type, current.type, "type"));
    return errors;
  },
};

function mergeStringData(secret: Raw): void {
  if (secret.stringData === undefined) return;
  secret.data ??= {};
  for (const key of Object.keys(secret.stringData)) {
    secret.data[key] = Buffer.from(secret.stringData[key], "utf8").toString("base64");
  }
  delete secret.stringData;
}

function validateKeptImmutable(object: Raw, current: Raw | undefined): FieldError[] {
  if (current?.immutable !== true) return [];
  const text = "field is immutable when `immutable` is set";
  if (object.immutable !== true) return [forbidden("immutable", text)];
  const changed = !deepEqual(object.data, current.data);
  return changed ? [forbidden("data", text)] : [];
}

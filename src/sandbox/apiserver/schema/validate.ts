/**
 * Validates an object against a structural schema, with kube-apiserver's error texts. The order of errors is
 * stable: those of the object itself, of its fields by name, of missing fields. Lists of type set and map are
 * checked here too. CEL rules are not (see ../cel).
 * upstream: kube-openapi pkg/validation, apiextensions-apiserver pkg/apiserver/validation
 */
import { canonicalJson, deepEqual, fieldOf, isObject } from "../../../base/json.ts";
import { parseNano } from "../../../base/quantity.ts";
import { compileRe2 } from "../../../readers/re2.ts";
import {
  duplicate,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from "./field-error.ts";
import type { FieldError, Schema } from "./schema.ts";

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  "date-time": (text) =>
    /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text),
  byte: (text) => /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0,
  uuid: (text) => /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(text),
  ipv4: (text) => /^(\d{1,3}\.){3}\d{1,3}$/.test(text) && text.split(".").every((p) => +p < 256),
  quantity: (text) => parseNano(text) !== undefined,
};

/** Checks `value`; `path` is `""` at the root. Errors are appended to `errors`. */
export function validateSchema(
  schema: Schema,
  value: unknown,
  path: string,
  errors: FieldError[],
): void {
  if (!checkType(schema, value, path, errors)) return;
  if (schema.enum !== undefined && !schema.enum.some((allowed) => deepEqual(allowed, value))) {
    if (value !== null) errors.push(notSupported(path, value, schema.enum));
  }
  if (typeof value === "string") checkString(schema, value, path, errors);
  else if (typeof value === "number") checkNumber(schema, value, path, errors);
  else if (Array.isArray(value)) checkArray(schema, value, path, errors);
  else if (isObject(value)) checkObject(schema, value, path, errors);
  checkCombinations(schema, value, path, errors);
}

function checkType(schema: Schema, value: unknown, path: string, errors: FieldError[]): boolean {
  const found = jsonType(value);
  if (value === null && schema.nullable === true) return false;
  let wanted: string;
  if (schema["x-kubernetes-int-or-string"] === true) {
    if (found === "integer" || found === "string") return true;
    wanted = "integer,string";
  } else {
    if (schema.type === undefined || found === schema.type) return true;
    if (schema.type === "number" && found === "integer") return true;
    wanted = schema.type;
  }
  const where = path === "" ? "" : path;
  const shown = found;
  errors.push(
    typeInvalid(
      path,
      shown,
      `${where} in body must be of type ${wanted}: ${JSON.stringify(shown)}`,
    ),
  );
  return false;
}

function checkString(schema: Schema, value: string, path: string, errors: FieldError[]): void {
  const { format } = schema;
  const problem = sizeProblem(schema, value, path) ?? patternProblem(schema, value, path);
  if (problem !== undefined) errors.push(problem);
  if (format !== undefined && fieldOf(FORMATS, format)?.(value) === false) {
    errors.push(typeInvalid(path, value, `${path} in body must be of type ${format}: "${value}"`));
  }
}

/** The error of a wrong length. If there is one, the pattern is not checked. */
function sizeProblem(
  { minLength, maxLength }: Schema,
  value: string,
  path: string,
): FieldError | undefined {
  if (maxLength === undefined && minLength === undefined) return undefined;
  const length = [...value].length;
  if (maxLength !== undefined && length > maxLength) return tooLong(path, maxLength);
  if (minLength === undefined || length >= minLength) return undefined;
  return invalid(path, value, `${path} in body should be at least ${minLength} chars long`);
}

function patternProblem({ pattern }: Schema, value: string, path: string): FieldError | undefined {
  if (pattern === undefined) return undefined;
  const expression = compileRe2(pattern);
  if (typeof expression === "string" || expression.matcher(value).find()) return undefined;
  return invalid(path, value, `${path} in body should match '${pattern}'`);
}

function checkNumber(schema: Schema, value: number, path: string, errors: FieldError[]): void {
  const { minimum, maximum, multipleOf } = schema;
  const refuse = (text: string): void => {
    errors.push(invalid(path, value, `${path} in body should be ${text}`));
  };
  if (multipleOf !== undefined && !isMultiple(value, multipleOf))
    refuse(`a multiple of ${multipleOf}`);
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum === true && value >= maximum) refuse(`less than ${maximum}`);
    else if (value > maximum) refuse(`less than or equal to ${maximum}`);
  }
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum === true && value <= minimum) refuse(`greater than ${minimum}`);
    else if (value < minimum) refuse(`greater than or equal to ${minimum}`);
  }
}

/** Whether `value` is a multiple of `factor`, within the error of binary fractions: 0.3 is three times 0.1. */
function isMultiple(value: number, factor: number): boolean {
  const times = factor < 1 ? (1 / factor) * value : value / factor;
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}

function checkArray(
  schema: Schema,
  value: readonly unknown[],
  path: string,
  errors: FieldError[],
): void {
  const { minItems, maxItems, items } = schema;
  if (maxItems !== undefined && value.length > maxItems) {
    errors.push(tooMany(path, value.length, maxItems));
  }
  if (minItems !== undefined && value.length < minItems) {
    const text = `${path} in body should have at least ${minItems} items`;
    errors.push(invalid(path, value.length, text));
  }
  if (items !== undefined) {
    for (let index = 0; index < value.length; index++) {
      validateSchema(items, value[index], `${path}[${index}]`, errors);
    }
  }
  const listType = schema["x-kubernetes-list-type"];
  if (listType === "set" || listType === "map") checkUnique(schema, value, path, errors);
}

function checkUnique(
  schema: Schema,
  value: readonly unknown[],
  path: string,
  errors: FieldError[],
): void {
  const keys = schema["x-kubernetes-list-map-keys"];
  const seen = new Set<string>();
  value.forEach((item, index) => {
    let id: unknown = item;
    if (keys !== undefined && isObject(item)) {
      id = Object.fromEntries(keys.map((key) => [key, item[key]]));
    }
    const text = canonicalJson(id);
    if (seen.has(text)) errors.push(duplicate(`${path}[${index}]`, id));
    seen.add(text);
  });
}

function checkObject(
  schema: Schema,
  value: Record<string, unknown>,
  path: string,
  errors: FieldError[],
): void {
  const { maxProperties, minProperties, properties, additionalProperties } = schema;
  const keys = Object.keys(value);
  if (maxProperties !== undefined && keys.length > maxProperties) {
    errors.push(tooMany(path, keys.length, maxProperties));
  }
  if (minProperties !== undefined && keys.length < minProperties) {
    const text = `${path} in body should have at least ${minProperties} properties`;
    errors.push(invalid(path, keys.length, text));
  }
  for (const key of keys.sort()) {
    if (value[key] === undefined) continue;
    const own =
      properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
    const child =
      own ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
    if (child !== undefined) validateSchema(child, value[key], join(path, key), errors);
  }
  for (const key of schema.required ?? []) {
    if (fieldOf(value, key) === undefined) errors.push(required(join(path, key)));
  }
}

/** Errors of anyOf, allOf, oneOf and not. They have no field of their own: kube-apiserver prints `<nil>`. */
function checkCombinations(
  schema: Schema,
  value: unknown,
  path: string,
  errors: FieldError[],
): void {
  const say = (text: string): void => {
    errors.push(invalid("<nil>", "", `"${path}" ${text}`));
  };
  if (schema.anyOf !== undefined && schema["x-kubernetes-int-or-string"] !== true) {
    if (!schema.anyOf.some((one) => matches(one, value))) {
      say("must validate at least one schema (anyOf)");
    }
  }
  if (schema.oneOf !== undefined) {
    const valid = schema.oneOf.filter((one) => matches(one, value)).length;
    if (valid === 0) say("must validate one and only one schema (oneOf). Found none valid");
    if (valid > 1) {
      say(`must validate one and only one schema (oneOf). Found ${valid} valid alternatives`);
    }
  }
  for (const one of schema.allOf ?? []) validateSchema(one, value, path, errors);
  if (schema.not !== undefined && matches(schema.not, value)) {
    say("must not validate the schema (not)");
  }
}

function matches(schema: Schema, value: unknown): boolean {
  const errors: FieldError[] = [];
  validateSchema(schema, value, "", errors);
  return errors.length === 0;
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

function jsonType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

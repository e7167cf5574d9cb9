/**
 * Field errors with the text of apimachinery's `field.Error`: one function for each of its types. The text
 * does not begin with the field. The code that makes the Status joins the two.
 * upstream: apimachinery pkg/util/validation/field/errors.go
 */
import { canonicalJson } from "../../../base/json.ts";
import type { FieldError } from "./schema.ts";

/** The error for a value of the right type that is not valid. */
export function invalid(field: string, value: unknown, detail: string): FieldError {
  return {
    field,
    reason: "FieldValueInvalid",
    message: `Invalid value: ${show(value)}${detail === "" ? "" : `: ${detail}`}`,
  };
}

/** The error for a value with the wrong JSON type. */
export function typeInvalid(field: string, value: unknown, detail: string): FieldError {
  return { ...invalid(field, value, detail), reason: "FieldValueTypeInvalid" };
}

/** The error for a missing field that must be set. upstream: apimachinery/pkg/util/validation/field. */
export function required(field: string, detail = ""): FieldError {
  return {
    field,
    reason: "FieldValueRequired",
    message: detail === "" ? "Required value" : `Required value: ${detail}`,
  };
}

/** The error for a field that must not be set here. */
export function forbidden(field: string, detail: string): FieldError {
  return { field, reason: "FieldValueForbidden", message: `Forbidden: ${detail}` };
}

/**
 * The error for a value that is not one of `supported`. The text shows these in the given order. Kubernetes sorts most
 * of its lists.
 */
export function notSupported(
  field: string,
  value: unknown,
  supported: readonly unknown[],
): FieldError {
  const list = supported.map((item) => show(item)).join(", ");
  return {
    field,
    reason: "FieldValueNotSupported",
    message: `Unsupported value: ${show(value)}: supported values: ${list}`,
  };
}

/** The error for a value that names something that does not exist. */
export function notFound(field: string, value: unknown): FieldError {
  return { field, reason: "FieldValueNotFound", message: `Not found: ${show(value)}` };
}

/** The error for a value that is in the list twice. */
export function duplicate(field: string, value: unknown): FieldError {
  return {
    field,
    reason: "FieldValueDuplicate",
    message: `Duplicate value: ${show(value)}`,
  };
}

/** The error for a text that has more bytes than allowed. */
export function tooLong(field: string, maxBytes: number): FieldError {
  return {
    field,
    reason: "FieldValueTooLong",
    message: `Too long: may not be more than ${maxBytes} bytes`,
  };
}

/** The error for a list that has more items than allowed. */
export function tooMany(field: string, actual: number, max: number): FieldError {
  return {
    field,
    reason: "FieldValueTooMany",
    message: `Too many: ${actual}: must have at most ${max} item${max === 1 ? "" : "s"}`,
  };
}

/** Joins field and text, as kube-apiserver prints an error. */
export function printFieldError(error: FieldError): string {
  return error.field === "" ? error.message : `${error.field}: ${error.message}`;
}

function show(value: unknown): string {
  if (value === undefined || value === null) return "null";
  // A Go struct (its fields begin with capitals) keeps the order of its fields. A map is sorted by key.
  if (typeof value === "object")
    return /^[A-Z]/.test(Object.keys(value)[0] ?? "")
      ? JSON.stringify(value)
      : canonicalJson(value);
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

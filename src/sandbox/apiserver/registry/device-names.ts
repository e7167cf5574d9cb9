/**
 * Validation of the names that claims and ResourceSlices share: pools, devices, counters, attributes.
 * upstream: pkg/apis/resource/validation/validation.go
 */
import { invalid, required, tooLong } from "../schema/field-error.ts";
import { nameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { driverNameErrors } from "./storage-rules.ts";

const MAX_ID_BYTES = 32;
const MAX_POOL_NAME_BYTES = 253;
const C_IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const C_IDENTIFIER_TEXT =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric " +
  "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

/** Errors of a pool's name: one or more subdomains, separated by `/`. */
export function poolNameErrors(name: string, path: string): FieldError[] {
  if (name === "") return [required(path)];
  return [
    ...(Buffer.byteLength(name) > MAX_POOL_NAME_BYTES ? [tooLong(path, MAX_POOL_NAME_BYTES)] : []),
    ...name
      .split("/")
      .flatMap((part) => nameProblems(part, "subdomain").map((text) => invalid(path, part, text))),
  ];
}

/** Errors of a name that must be a DNS label, such as the name of a device, a counter or a request. */
export function labelErrors(name: string, path: string): FieldError[] {
  return nameProblems(name, "label").map((text) => invalid(path, name, text));
}

/** Errors of a name that must have a domain, such as `gpu.example.com/model`. */
export function fullyQualifiedNameErrors(name: string, path: string): FieldError[] {
  const errors = qualifiedErrors(name, path);
  if (name !== "" && !name.includes("/")) errors.push(invalid(path, name, "must include a domain"));
  return errors;
}

/** Errors of a name that may have a domain, such as `model` or `gpu.example.com/model`. */
export function qualifiedErrors(name: string, path: string): FieldError[] {
  if (name === "") return [required(path, "name required")];
  const parts = name.split("/");
  if (parts.length === 1) return identifierErrors(name, path);
  const [domain = "", id = ""] = parts;
  return [
    ...(domain === ""
      ? [required(path, "the domain must not be empty")]
      : driverNameErrors(domain, path)),
    ...(id === "" ? [required(path, "the name must not be empty")] : identifierErrors(id, path)),
  ];
}

function identifierErrors(id: string, path: string): FieldError[] {
  const errors = Buffer.byteLength(id) > MAX_ID_BYTES ? [tooLong(path, MAX_ID_BYTES)] : [];
  if (!C_IDENTIFIER.test(id)) errors.push(invalid(path, id, C_IDENTIFIER_TEXT));
  return errors;
}

/**
 * Names of a claim's requests, and the driver's own configuration of them. The spec of a claim has both, and its
 * allocation repeats them.
 * upstream: pkg/apis/resource/validation/validation.go
 */
import { invalid, required, tooLong } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { labelErrors } from "./device-names.ts";
import type { Raw } from "./kind-rules.ts";
import { atMost, eachOf, uniqueValues } from "./list-rules.ts";
import { driverNameErrors } from "./storage-rules.ts";

const MAX_REFERENCES = 32;
const MAX_PARAMETER_BYTES = 10 * 1024;
const NOT_A_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/** All names of requests: `request`, and `request/subrequest` for alternatives. */
export function requestNames(requests: readonly Raw[]): ReadonlySet<string> {
  return new Set(
    requests.flatMap(({ name, firstAvailable = [] }) => [
      name,
      ...firstAvailable.map((one: Raw) => `${name}/${one.name}`),
    ]),
  );
}

/** Errors of a list of requests' names. */
export function referenceErrors(
  references: Raw,
  path: string,
  names: ReadonlySet<string>,
): FieldError[] {
  return [
    ...eachOf(references, path, (name, field) => referenceError(name, field, names)),
    ...atMost(references, MAX_REFERENCES, path),
    ...uniqueValues(references ?? [], path),
  ];
}

/** Errors of one reference to a request of the claim: `request` or `request/subrequest`. */
export function referenceError(
  name: string,
  path: string,
  names: ReadonlySet<string>,
): FieldError[] {
  const parts = name.split("/");
  const unknown = invalid(path, name, NOT_A_REQUEST);
  if (parts.length > 2) return [unknown];
  const errors = parts.flatMap((part) => labelErrors(part, path));
  return names.has(name) ? errors : [...errors, unknown];
}

/** Errors of one driver's configuration. */
export function configErrors({ opaque }: Raw, path: string): FieldError[] {
  if (opaque === undefined) return [required(`${path}.opaque`)];
  return [
    ...driverNameErrors(opaque.driver ?? "", `${path}.opaque.driver`),
    ...rawObjectErrors(opaque.parameters, `${path}.opaque.parameters`),
  ];
}

/** Errors of an object that Kubernetes does not look into. The schema has checked that it is an object. */
export function rawObjectErrors(value: unknown, path: string): FieldError[] {
  if (value === undefined) return [required(path)];
  const isLong = Buffer.byteLength(JSON.stringify(value)) > MAX_PARAMETER_BYTES;
  return isLong ? [tooLong(path, MAX_PARAMETER_BYTES)] : [];
}

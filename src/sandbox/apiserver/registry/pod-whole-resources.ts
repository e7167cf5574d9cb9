/**
 * Defaults and validation of pod-level resources (`spec.resources`).
 * upstream: pkg/apis/core/v1/defaults.go defaultPodRequests, pkg/apis/core/validation validatePodResources
 */
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { formatResource, parseResources } from "../../../apis/resources.ts";
import { canonicalQuantity } from "../../../base/canonical-quantity.ts";
import { parseNano } from "../../../base/quantity.ts";
import { invalid, notSupported, required } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type Raw } from "./kind-rules.ts";

const SUPPORTED = ["cpu", "hugepages-", "memory"];

function isSupported(resource: string): boolean {
  return resource === "cpu" || resource === "memory" || resource.startsWith("hugepages-");
}

/**
 * Sets the pod-level requests of a pod with pod-level limits: the sum of the containers' requests, else the limit
 * itself.
 */
export function defaultWholePod(spec: Raw): void {
  const { limits = {}, requests = {} } = spec.resources ?? {};
  if (Object.keys(limits).length === 0) return;
  const wanted = { ...requests };
  for (const [name, amount] of Object.entries(containerRequests(spec)))
    if (name === "cpu" || name === "memory") fallback(wanted, name, formatResource(name, amount));
  for (const name of Object.keys(limits))
    if (isSupported(name)) fallback(wanted, name, limits[name]);
  if (Object.keys(wanted).length > 0) spec.resources.requests = wanted;
}

/** The requests of the containers, without pod-level resources. */
function containerRequests({ resources: _, overhead: _o, ...spec }: Raw): Record<string, number> {
  const { pods: _p, ...requests } = podRequests({ metadata: { name: "" }, spec });
  return requests;
}

/** Errors of pod-level resources. Empty: valid. */
export function validateWholePod(spec: Raw): FieldError[] {
  if (spec.resources === undefined) return [];
  const { limits = {}, requests = {} } = spec.resources;
  const errors: FieldError[] = [];
  for (const [side, amounts] of Object.entries({ limits, requests }))
    for (const name of Object.keys(amounts).sort())
      if (!isSupported(name))
        errors.push(notSupported(`spec.resources.${side}[${name}]`, name, SUPPORTED));
  for (const name of Object.keys(requests).sort())
    errors.push(...validateRequest(name, requests[name], limits));
  const aggregate = containerRequests(spec);
  const asked = parseResources(requests);
  for (const [name, amount] of Object.entries(aggregate))
    if (asked[name] !== undefined && asked[name] < amount)
      errors.push(
        invalid(
          `spec.resources.requests[${name}]`,
          canonicalQuantity(requests[name]) ?? requests[name],
          `must be greater than or equal to aggregate container requests of ${formatResource(name, amount)}`,
        ),
      );
  return errors;
}

function validateRequest(name: string, amount: Raw, limits: Raw): FieldError[] {
  if (limits[name] === undefined) {
    if (name === "cpu" || name === "memory") return [];
    return [
      required("spec.resources.limits", "Limit must be set for non overcommitable resources"),
    ];
  }
  if ((parseNano(amount) ?? 0n) <= (parseNano(limits[name]) ?? 0n)) return [];
  const shown = canonicalQuantity(limits[name]) ?? limits[name];
  const text = `must be less than or equal to ${name} limit of ${shown}`;
  return [invalid(`spec.resources.requests`, canonicalQuantity(amount) ?? amount, text)];
}

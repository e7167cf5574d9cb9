/**
 * Rules of Ingresses, IngressClasses, network policies, Endpoints and EndpointSlices. The sandbox serves no
 * Ingress and isolates no pods.
 * upstream: pkg/apis/networking
 */
import { deepEqual } from "../../../base/json.ts";
import { invalid, notSupported, required } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";

const PATH_TYPES = ["Exact", "ImplementationSpecific", "Prefix"];

/** Defaults of an EndpointSlice. */
export const ENDPOINT_SLICE_RULES: KindRules = {
  /** Writes empty lists and conditions, which Go does not omit for this kind. */
  defaults(slice) {
    for (const field of ["endpoints", "ports"])
      if ((slice[field] ?? []).length === 0) slice[field] = null;
    for (const endpoint of slice.endpoints ?? []) fallback(endpoint, "conditions", {});
    for (const port of slice.ports ?? []) {
      fallback(port, "name", "");
      fallback(port, "protocol", "TCP");
    }
  },
};

/** Defaults of an Endpoints. */
export const ENDPOINTS_RULES: KindRules = {
  defaults({ subsets }) {
    for (const { ports } of subsets ?? [])
      for (const port of ports ?? []) fallback(port, "protocol", "TCP");
  },
};

/** Validation of an Ingress, and its first status. */
export const INGRESS_RULES: KindRules = {
  prepareCreate(ingress) {
    ingress.status = { loadBalancer: {} };
  },
  validate({ spec = {} }) {
    const errors: FieldError[] = [];
    if ((spec.rules ?? []).length === 0 && spec.defaultBackend === undefined) {
      const text = "either `defaultBackend` or `rules` must be specified";
      errors.push(invalid("spec", null, text));
    }
    (spec.rules ?? []).forEach((rule: Raw, index: number) => {
      (rule.http?.paths ?? []).forEach((path: Raw, position: number) => {
        errors.push(...pathErrors(path, `spec.rules[${index}].http.paths[${position}]`));
      });
    });
    return errors;
  },
};

function pathErrors({ path, pathType, backend = {} }: Raw, at: string): FieldError[] {
  const errors: FieldError[] = [];
  if (pathType === undefined) errors.push(required(`${at}.pathType`, "pathType must be specified"));
  else if (!PATH_TYPES.includes(pathType))
    errors.push(notSupported(`${at}.pathType`, pathType, PATH_TYPES));
  if (pathType !== "ImplementationSpecific" && !(path ?? "").startsWith("/"))
    errors.push(invalid(`${at}.path`, path ?? "", "must be an absolute path"));
  if (backend.service !== undefined && (backend.service.name ?? "") === "")
    errors.push(required(`${at}.backend.service.name`));
  return errors;
}

/** Defaults and validation of an IngressClass. */
export const INGRESS_CLASS_RULES: KindRules = {
  defaults({ spec }) {
    if (spec?.parameters !== undefined) fallback(spec.parameters, "scope", "Cluster");
  },
  validate({ spec = {} }, current) {
    if (current === undefined || deepEqual(spec.controller, current.spec?.controller)) return [];
    return [invalid("spec.controller", spec.controller, "field is immutable")];
  },
};

/** Defaults of a NetworkPolicy. */
export const NETWORK_POLICY_RULES: KindRules = {
  defaults({ spec }) {
    if (spec === undefined) return;
    fallback(spec, "podSelector", {});
    const isOutward = (spec.egress ?? []).length > 0;
    fallback(spec, "policyTypes", isOutward ? ["Ingress", "Egress"] : ["Ingress"]);
    for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])])
      for (const port of rule.ports ?? []) fallback(port, "protocol", "TCP");
  },
};

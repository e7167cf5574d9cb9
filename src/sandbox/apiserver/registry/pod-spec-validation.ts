/**
 * Validation of a pod's spec, in a Pod or in a workload's template: containers, volumes, resources.
 * Scheduling rules are checked in pod-placement-validation.ts.
 * upstream: pkg/apis/core/validation/validation.go
 */
import { parseNano } from "../../../base/quantity.ts";
import { duplicate, invalid, notFound, required } from "../schema/field-error.ts";
import { labelValueProblems, nameProblems, qualifiedNameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import type { Raw } from "./kind-rules.ts";
import {
  validateAffinity,
  validateSpread,
  validateTolerations,
} from "./pod-placement-validation.ts";
import { resourceNameProblems } from "./resource-names.ts";

/** Errors of a pod's spec at `path` (`spec`, `spec.template.spec`). */
export function validatePodSpec(spec: Raw, path: string): FieldError[] {
  if (spec === undefined) return [required(`${path}.containers`)];
  const errors: FieldError[] = [];
  const volumes = new Set<string>();
  (spec.volumes ?? []).forEach((volume: Raw, index: number) => {
    errors.push(...validateName(volume.name, `${path}.volumes[${index}].name`));
    if (volumes.has(volume.name)) {
      errors.push(duplicate(`${path}.volumes[${index}].name`, volume.name));
    }
    volumes.add(volume.name);
  });
  if ((spec.containers ?? []).length === 0) errors.push(required(`${path}.containers`));
  const names = new Set<string>();
  for (const list of ["containers", "initContainers"]) {
    (spec[list] ?? []).forEach((container: Raw, index: number) => {
      const at = `${path}.${list}[${index}]`;
      if (names.has(container.name)) errors.push(duplicate(`${at}.name`, container.name));
      names.add(container.name);
      errors.push(...validateContainer(container, at, volumes));
    });
  }
  const grace = spec.terminationGracePeriodSeconds;
  if (grace !== undefined && grace < 0) {
    errors.push(
      invalid(`${path}.terminationGracePeriodSeconds`, grace, "must be greater than or equal to 0"),
    );
  }
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    for (const text of qualifiedNameProblems(key)) {
      errors.push(invalid(`${path}.nodeSelector`, key, text));
    }
    for (const text of labelValueProblems(spec.nodeSelector[key])) {
      errors.push(invalid(`${path}.nodeSelector`, spec.nodeSelector[key], text));
    }
  }
  errors.push(...validateTolerations(spec.tolerations, `${path}.tolerations`));
  errors.push(...validateAffinity(spec.affinity, `${path}.affinity`));
  errors.push(
    ...validateSpread(spec.topologySpreadConstraints, `${path}.topologySpreadConstraints`),
  );
  return errors;
}

function validateName(name: string | undefined, path: string): FieldError[] {
  if (name === undefined || name === "") return [required(path)];
  return nameProblems(name, "label").map((text) => invalid(path, name, text));
}

function validateContainer(
  container: Raw,
  path: string,
  volumes: ReadonlySet<string>,
): FieldError[] {
  const errors = validateName(container.name, `${path}.name`);
  if ((container.image ?? "") === "") errors.push(required(`${path}.image`));
  else if (container.image.trim() !== container.image) {
    const text = "must not have leading or trailing whitespace";
    errors.push(invalid(`${path}.image`, container.image, text));
  }
  errors.push(...validateResources(container.resources, `${path}.resources`));
  (container.ports ?? []).forEach((port: Raw, index: number) => {
    for (const name of ["containerPort", "hostPort"]) {
      const number = port[name];
      if (number === undefined ? name === "containerPort" : number < 1 || number > 65_535) {
        const field = `${path}.ports[${index}].${name}`;
        if (number === undefined) errors.push(required(field));
        else errors.push(invalid(field, number, "must be between 1 and 65535, inclusive"));
      }
    }
  });
  (container.env ?? []).forEach((variable: Raw, index: number) => {
    if ((variable.name ?? "") === "") errors.push(required(`${path}.env[${index}].name`));
  });
  (container.volumeMounts ?? []).forEach((mount: Raw, index: number) => {
    const at = `${path}.volumeMounts[${index}]`;
    if ((mount.name ?? "") === "") errors.push(required(`${at}.name`));
    else if (!volumes.has(mount.name)) {
      errors.push(notFound(`${at}.name`, mount.name));
    }
    if ((mount.mountPath ?? "") === "") errors.push(required(`${at}.mountPath`));
  });
  return errors;
}

/**
 * Errors of requests and limits: no negative amounts, requests not above limits, extended resources in whole
 * numbers with equal request and limit.
 */
export function validateResources(resources: Raw, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const limits = resources?.limits ?? {};
  const requests = resources?.requests ?? {};
  for (const [list, amounts] of Object.entries({ limits, requests })) {
    for (const name of Object.keys(amounts)) {
      const field = `${path}.${list}[${name}]`;
      const nano = parseNano(amounts[name]) ?? 0n;
      for (const text of resourceNameProblems(name)) errors.push(invalid(field, name, text));
      if (nano < 0n) {
        errors.push(invalid(field, amounts[name], "must be greater than or equal to 0"));
      }
      if (isExtended(name) && nano % 1_000_000_000n !== 0n) {
        errors.push(invalid(field, amounts[name], "must be an integer"));
      }
    }
  }
  for (const name of Object.keys(requests)) {
    const limit = limits[name];
    if (limit === undefined) {
      if (isExtended(name)) {
        errors.push(
          required(`${path}.limits`, "Limit must be set for non overcommitable resources"),
        );
      }
      continue;
    }
    const asked = parseNano(requests[name]) ?? 0n;
    const allowed = parseNano(limit) ?? 0n;
    if (isExtended(name) ? asked !== allowed : asked > allowed) {
      const relation = isExtended(name) ? "must be equal to" : "must be less than or equal to";
      const text = `${relation} ${name} limit of ${limit}`;
      errors.push(invalid(`${path}.requests`, requests[name], text));
    }
  }
  return errors;
}

/** True for an extended resource (`nvidia.com/gpu`): its name has a domain outside kubernetes.io. */
function isExtended(name: string): boolean {
  if (!name.includes("/") || name.startsWith("requests.")) return false;
  const domain = name.split("/")[0] as string;
  return domain !== "kubernetes.io" && !domain.endsWith(".kubernetes.io");
}

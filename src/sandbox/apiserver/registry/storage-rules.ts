/**
 * Defaults and validation of PersistentVolumes, PersistentVolumeClaims and StorageClasses.
 * upstream: pkg/apis/{core,storage}/v1/defaults.go, pkg/apis/{core,storage}/validation
 */
import { deepEqual } from "../../../base/json.ts";
import { parseNano } from "../../../base/quantity.ts";
import { forbidden, invalid, required, tooLong } from "../schema/field-error.ts";
import { nameProblems, qualifiedNameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { eachOf, uniqueBy } from "./list-rules.ts";
import { validateNodeSelector } from "./pod-placement-validation.ts";
import { validateImmutable, validateSelector } from "./selector-rules.ts";

const CLAIM_TEXT =
  "spec is immutable after creation except resources.requests and volumeAttributesClassName for " +
  "bound claims";

/** Defaults and validation of a PersistentVolumeClaim, and its first status. */
export const CLAIM_RULES: KindRules = {
  defaults(claim) {
    claim.spec ??= {};
    fallback(claim.spec, "volumeMode", "Filesystem");
    fallback(claim.spec, "resources", {});
  },
  prepareCreate(claim) {
    claim.status = { phase: "Pending" };
  },
  validate(claim, current) {
    const spec = claim.spec ?? {};
    const errors: FieldError[] = [];
    if ((spec.accessModes ?? []).length === 0) {
      errors.push(required("spec.accessModes", "at least 1 access mode is required"));
    }
    if (spec.resources?.requests?.storage === undefined) {
      errors.push(required("spec.resources[storage]"));
    }
    errors.push(...validateSelector(spec.selector, "spec.selector"));
    if (current === undefined) return errors;
    if (!deepEqual(fixedPart(spec, current), fixedPart(current.spec, current))) {
      errors.push(forbidden("spec", CLAIM_TEXT));
    }
    const size = sizeOf(spec.resources?.requests);
    const field = "spec.resources.requests.storage";
    if (size < sizeOf(current.spec.resources?.requests) && size < sizeOf(current.status?.capacity))
      errors.push(forbidden(field, "field can not be less than status.capacity"));
    return errors;
  },
};

/** Defaults and validation of a PersistentVolume, and its first status. */
export const VOLUME_RULES: KindRules = {
  defaults(volume) {
    volume.spec ??= {};
    fallback(volume.spec, "persistentVolumeReclaimPolicy", "Retain");
    fallback(volume.spec, "volumeMode", "Filesystem");
    if (volume.spec.hostPath !== undefined) fallback(volume.spec.hostPath, "type", "");
  },
  prepareCreate(volume) {
    volume.status = {
      phase: "Pending",
      lastPhaseTransitionTime: volume.metadata.creationTimestamp,
    };
  },
  validate({ spec = {} }) {
    const errors: FieldError[] = [];
    if ((spec.accessModes ?? []).length === 0) errors.push(required("spec.accessModes"));
    if (spec.capacity?.storage === undefined) errors.push(required("spec.capacity"));
    if (spec.csi !== undefined)
      errors.push(...driverNameErrors(spec.csi.driver ?? "", "spec.csi.driver"));
    if (spec.nodeAffinity !== undefined)
      errors.push(
        ...volumeAffinityErrors(spec.nodeAffinity.required, "spec.nodeAffinity.required"),
      );
    return errors;
  },
};

function volumeAffinityErrors(selector: Raw, path: string): FieldError[] {
  if (selector === undefined) return [required(path, "must specify required node constraints")];
  return validateNodeSelector(selector, path);
}

const MAX_DRIVER_NAME_BYTES = 63;

/** Errors of a CSI driver's name. upstream: ValidateCSIDriverName */
export function driverNameErrors(name: string, field: string): FieldError[] {
  const errors = name === "" ? [required(field)] : [];
  if (Buffer.byteLength(name) > MAX_DRIVER_NAME_BYTES)
    errors.push(tooLong(field, MAX_DRIVER_NAME_BYTES));
  return [
    ...errors,
    ...nameProblems(name.toLowerCase(), "subdomain").map((text) => invalid(field, name, text)),
  ];
}

/** Defaults and validation of a StorageClass. */
export const STORAGE_CLASS_RULES: KindRules = {
  defaults(storageClass) {
    fallback(storageClass, "reclaimPolicy", "Delete");
    fallback(storageClass, "volumeBindingMode", "Immediate");
  },
  validate(storageClass, current) {
    const errors: FieldError[] = [];
    if ((storageClass.provisioner ?? "") === "") errors.push(required("provisioner"));
    errors.push(...eachOf(storageClass.allowedTopologies, "allowedTopologies", topologyErrors));
    if (current === undefined) return errors;
    if (!deepEqual(storageClass.parameters, current.parameters)) {
      errors.push(forbidden("parameters", "updates to parameters are forbidden."));
    }
    if (storageClass.provisioner !== current.provisioner) {
      errors.push(forbidden("provisioner", "updates to provisioner are forbidden."));
    }
    if (storageClass.reclaimPolicy !== current.reclaimPolicy) {
      errors.push(forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden."));
    }
    const mode = "volumeBindingMode";
    return [...errors, ...validateImmutable(storageClass[mode], current[mode], mode)];
  },
};

/** Errors of one term of allowedTopologies. upstream: ValidateTopologySelectorTerm */
function topologyErrors({ matchLabelExpressions = [] }: Raw, path: string): FieldError[] {
  const at = `${path}.matchLabelExpressions`;
  return [
    ...eachOf(matchLabelExpressions, at, ({ key = "", values = [] }, field) => [
      ...(values.length === 0 ? [required(`${field}.values`)] : []),
      ...qualifiedNameProblems(key).map((text) => invalid(`${field}.key`, key, text)),
    ]),
    ...uniqueBy(matchLabelExpressions, "key", at),
  ];
}

/**
 * The part of a claim's spec that cannot change. Changes are allowed in volumeAttributesClassName, in the
 * size of a bound claim, and where the binder fills an empty volume or class.
 */
function fixedPart(spec: Raw, { spec: before, status }: Raw): Raw {
  const { volumeAttributesClassName: _class, ...fixed } = spec;
  if (status?.phase === "Bound") delete fixed.resources;
  if ((before.volumeName ?? "") === "") delete fixed.volumeName;
  if (before.storageClassName === undefined) delete fixed.storageClassName;
  return fixed;
}

function sizeOf(amounts: Raw): bigint {
  return parseNano(amounts?.storage ?? "0") ?? 0n;
}

/**
 * Validation of ResourceSlices and their devices. It also sets the time of a device taint.
 * upstream: pkg/apis/resource/validation/validation.go
 */
import { parseNano } from "../../../base/quantity.ts";
import { forbidden, invalid, notSupported, required, tooLong } from "../schema/field-error.ts";
import { labelValueProblems, nameProblems, qualifiedNameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { atMost, eachOf, uniqueBy } from "./list-rules.ts";
import { validateNodeSelector } from "./pod-placement-validation.ts";
import { validateImmutable } from "./selector-rules.ts";
import { driverNameErrors } from "./storage-rules.ts";

const MAX_DEVICES = 128;
const MAX_FIELDS = 32;
const MAX_COUNTERS = 32;
const MAX_TAINTS = 4;
const MAX_ID_BYTES = 32;
const MAX_VALUE_BYTES = 64;
const MAX_POOL_NAME_BYTES = 253;
const VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
const C_IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const C_IDENTIFIER_TEXT =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric " +
  "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const ONE_WAY =
  "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
const ONE_WAY_OF_DEVICE =
  "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";

/** Validation of a ResourceSlice. */
export const RESOURCE_SLICE_RULES: KindRules = {
  prepareCreate: ({ metadata, spec }) => {
    for (const device of spec?.devices ?? []) {
      for (const taint of device.taints ?? [])
        fallback(taint, "timeAdded", metadata.creationTimestamp);
      dropBinding(device);
    }
  },
  prepareUpdate: ({ spec }) => {
    for (const device of spec?.devices ?? []) dropBinding(device);
  },
  validate({ spec = {} }, current) {
    const { driver = "", pool = {}, devices = [], sharedCounters = [] } = spec;
    return [
      ...driverNameErrors(driver, "spec.driver"),
      ...poolErrors(pool, "spec.pool"),
      ...(current === undefined ? [] : fixedErrors(spec, current.spec)),
      ...nodeChoiceErrors(spec),
      ...eachOf(devices, "spec.devices", (device, field) => deviceErrors(device, field, spec)),
      ...uniqueBy(devices, "name", "spec.devices"),
      ...atMost(devices, MAX_DEVICES, "spec.devices"),
      ...eachOf(sharedCounters, "spec.sharedCounters", ({ name = "", counters = {} }, field) => [
        ...labelErrors(name, `${field}.name`),
        ...(Object.keys(counters).length === 0 ? [required(`${field}.counters`)] : []),
      ]),
      ...uniqueBy(sharedCounters, "name", "spec.sharedCounters"),
      ...countersInAll(sharedCounters),
    ];
  },
};

/**
 * Drops the fields of devices that are prepared after they are chosen (KEP-5007). They need the feature gate
 * DRADeviceBindingConditions, which is alpha and off in 1.34. Without it, such devices are ordinary devices.
 * upstream: pkg/registry/resource/resourceslice/strategy.go
 */
function dropBinding(device: Raw): void {
  for (const field of ["bindsToNode", "bindingConditions", "bindingFailureConditions"])
    delete device[field];
}

function fixedErrors(spec: Raw, before: Raw): FieldError[] {
  return [
    ...validateImmutable(spec.pool?.name, before.pool?.name, "spec.pool.name"),
    ...validateImmutable(spec.driver, before.driver, "spec.driver"),
    ...validateImmutable(spec.nodeName, before.nodeName, "spec.nodeName"),
  ];
}

function countersInAll(sets: readonly Raw[]): FieldError[] {
  const count = sets.reduce((sum, { counters = {} }) => sum + Object.keys(counters).length, 0);
  const text = `the total number of shared counters must not exceed ${MAX_COUNTERS}`;
  return count > MAX_COUNTERS ? [invalid("spec.sharedCounters", count, text)] : [];
}

function poolErrors(pool: Raw, path: string): FieldError[] {
  const { name = "", generation = 0, resourceSliceCount = 0 } = pool;
  const errors = name === "" ? [required(`${path}.name`)] : [];
  if (Buffer.byteLength(name) > MAX_POOL_NAME_BYTES)
    errors.push(tooLong(`${path}.name`, MAX_POOL_NAME_BYTES));
  if (name !== "")
    for (const part of name.split("/"))
      for (const text of nameProblems(part, "subdomain"))
        errors.push(invalid(`${path}.name`, part, text));
  if (resourceSliceCount <= 0)
    errors.push(
      invalid(`${path}.resourceSliceCount`, resourceSliceCount, "must be greater than zero"),
    );
  if (generation < 0) {
    const text = "must be greater than or equal to zero";
    errors.push(invalid(`${path}.generation`, generation, text));
  }
  return errors;
}

function nodeChoiceErrors(spec: Raw): FieldError[] {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = spec;
  const errors: FieldError[] = [];
  const unset = (field: string, value: unknown, state: string): void => {
    errors.push(invalid(`spec.${field}`, value, `must be either unset or set to ${state}`));
  };
  if (nodeName === "") unset("nodeName", "", "a non-empty string");
  if (allNodes === false) unset("allNodes", false, "true");
  if (perDeviceNodeSelection === false) unset("perDeviceNodeSelection", false, "true");
  errors.push(...oneTermErrors(nodeSelector, "spec.nodeSelector"));
  const chosen = Object.entries({ nodeName, nodeSelector, allNodes, perDeviceNodeSelection })
    .filter(([, value]) => value !== undefined && value !== "" && value !== false)
    .map(([name]) => `\`${name}\``);
  if (chosen.length === 0) errors.push(required("spec", ONE_WAY));
  if (chosen.length > 1) {
    const text = `${ONE_WAY}, but multiple fields are set`;
    errors.push(invalid("spec", `{${chosen.join(", ")}}`, text));
  }
  return errors;
}

/** Errors of the node selector of a slice or a device. Empty if there is no selector. */
function oneTermErrors(selector: Raw, path: string): FieldError[] {
  if (selector === undefined) return [];
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 1) return validateNodeSelector(selector, path);
  const text = "must have exactly one node selector term";
  return [invalid(`${path}.nodeSelectorTerms`, terms, text)];
}

function deviceErrors(device: Raw, path: string, spec: Raw): FieldError[] {
  const { name = "", attributes = {}, capacity = {}, taints, consumesCounters = [] } = device;
  const fields = Object.keys(attributes).length + Object.keys(capacity).length;
  const tooManyFields = `the total number of attributes and capacities must not exceed ${MAX_FIELDS}`;
  return [
    ...labelErrors(name, `${path}.name`),
    ...(fields > MAX_FIELDS ? [invalid(path, fields, tooManyFields)] : []),
    ...Object.entries(attributes).flatMap(([key, value]) => [
      ...qualifiedErrors(key, `${path}.attributes`),
      ...attributeErrors(value, `${path}.attributes[${key}]`),
    ]),
    ...Object.entries(capacity).flatMap(([key, value]) => [
      ...qualifiedErrors(key, `${path}.capacity`),
      ...capacityErrors(
        value,
        `${path}.capacity[${key}]`,
        device.allowMultipleAllocations === true,
      ),
    ]),
    ...eachOf(taints, `${path}.taints`, taintErrors),
    ...atMost(taints, MAX_TAINTS, `${path}.taints`),
    ...counterErrors(consumesCounters, `${path}.consumesCounters`, spec.sharedCounters ?? []),
    ...deviceNodeErrors(device, path, spec.perDeviceNodeSelection === true),
  ];
}

function deviceNodeErrors(device: Raw, path: string, isOwnChoice: boolean): FieldError[] {
  const chosen = ["nodeName", "nodeSelector", "allNodes"].filter(
    (field) => device[field] !== undefined,
  );
  if (!isOwnChoice) {
    const text =
      "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    return chosen.length === 0 ? [] : [invalid(path, null, text)];
  }
  if (chosen.length === 0) return [required(path, ONE_WAY_OF_DEVICE)];
  if (chosen.length === 1) return oneTermErrors(device.nodeSelector, `${path}.nodeSelector`);
  const shown = `{${chosen.map((field) => `\`${field}\``).join(", ")}}`;
  return [invalid(path, shown, ONE_WAY_OF_DEVICE)];
}

function counterErrors(uses: readonly Raw[], path: string, sets: readonly Raw[]): FieldError[] {
  return [
    ...eachOf(uses, path, ({ counterSet = "", counters = {} }, field) => {
      const names = Object.keys(counters);
      if (counterSet === "") return [required(`${field}.counterSet`)];
      if (names.length === 0) return [required(`${field}.counters`)];
      const set = sets.find(({ name }) => name === counterSet);
      if (set === undefined) {
        const text = "must reference a counterSet defined in the ResourceSlice sharedCounters";
        return [invalid(`${field}.counterSet`, counterSet, text)];
      }
      const text = "must reference a counter defined in the ResourceSlice sharedCounters";
      return names
        .filter((name) => set.counters?.[name] === undefined)
        .map((name) => invalid(`${field}.counters`, name, text));
    }),
    ...uniqueBy(uses, "counterSet", path),
  ];
}

function attributeErrors(attribute: Raw, path: string): FieldError[] {
  const { string, version } = attribute;
  const count = ["bool", "int", "string", "version"].filter(
    (type) => attribute[type] !== undefined,
  ).length;
  const errors: FieldError[] = [];
  for (const [type, text] of Object.entries({ string, version }))
    if (Buffer.byteLength(text ?? "") > MAX_VALUE_BYTES)
      errors.push(tooLong(`${path}.${type}`, MAX_VALUE_BYTES));
  if (version !== undefined && !VERSION.test(version)) {
    const text = "must be a string compatible with semver.org spec 2.0.0";
    errors.push(invalid(`${path}.version`, version, text));
  }
  const text = "exactly one value must be specified";
  if (count === 0) errors.push(required(path, text));
  if (count > 1) errors.push(invalid(path, attribute, text));
  return errors;
}

function capacityErrors(capacity: Raw, path: string, isShared: boolean): FieldError[] {
  const { value, requestPolicy } = capacity;
  if (requestPolicy === undefined) return [];
  const at = `${path}.requestPolicy`;
  if (!isShared) return [forbidden(at, "allowMultipleAllocations must be true")];
  const { validValues = [], validRange } = requestPolicy;
  if (validValues.length > 0 && validRange !== undefined) {
    const text =
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    return [forbidden(at, text)];
  }
  const way = validValues.length > 0 ? "validValues" : "validRange";
  if (validValues.length === 0 && validRange === undefined) return [];
  if (requestPolicy.default === undefined)
    return [required(`${at}.default`, `required when ${way} is defined`)];
  if (way === "validRange")
    return rangeErrors(requestPolicy.default, validRange, { value, path: `${at}.validRange` });
  const text = "default value is not valid according to the requestPolicy";
  const isListed = validValues.some((one: string) => nano(one) === nano(requestPolicy.default));
  return isListed ? [] : [invalid(`${at}.validValues`, requestPolicy.default, text)];
}

function rangeErrors(
  standard: string,
  { min, max, step }: Raw,
  { value, path }: { readonly value: string; readonly path: string },
): FieldError[] {
  if (min === undefined) return [required(`${path}.min`, "required when validRange is defined")];
  const errors: FieldError[] = [];
  const larger = (field: string, shown: string, text: string): void => {
    errors.push(invalid(`${path}.${field}`, shown, text));
  };
  if (nano(min) > nano(value)) larger("min", min, `min is larger than capacity value: ${value}`);
  if (nano(standard) < nano(min)) larger("min", standard, `default is less than min: ${min}`);
  if (max !== undefined) {
    if (nano(min) > nano(max)) larger("max", min, `min is larger than max: ${max}`);
    if (nano(max) > nano(value)) larger("max", max, `max is larger than capacity value: ${value}`);
    if (nano(standard) > nano(max)) larger("max", standard, `default is more than max: ${max}`);
  }
  if (step === undefined || nano(step) === 0n) return errors;
  for (const one of max === undefined ? [standard] : [standard, max])
    if ((nano(one) - nano(min)) % nano(step) !== 0n)
      larger("step", one, `value is not a multiple of a given step (${step}) from (${min})`);
  return errors;
}

function nano(quantity: string): bigint {
  return parseNano(quantity) ?? 0n;
}

function taintErrors({ key = "", value = "", effect = "" }: Raw, path: string): FieldError[] {
  return [
    ...qualifiedNameProblems(key).map((text) => invalid(`${path}.key`, key, text)),
    ...labelValueProblems(value).map((text) => invalid(`${path}.value`, value, text)),
    ...(effect === "" ? [required(`${path}.effect`)] : []),
  ];
}

/** Errors of one device toleration. */
export function deviceTolerationErrors(toleration: Raw, path: string): FieldError[] {
  const { key = "", operator = "", value = "", effect = "" } = toleration;
  const errors: FieldError[] = [];
  if (key !== "")
    for (const text of qualifiedNameProblems(key)) errors.push(invalid(`${path}.key`, key, text));
  if (operator === "Exists" && value !== "")
    errors.push(invalid(`${path}.value`, value, "must be empty for operator `Exists`"));
  if (operator === "Equal")
    for (const text of labelValueProblems(value))
      errors.push(invalid(`${path}.value`, value, text));
  if (!["Exists", "Equal"].includes(operator))
    errors.push(notSupported(`${path}.operator`, operator, ["Equal", "Exists"]));
  if (!["", "NoExecute", "NoSchedule"].includes(effect))
    errors.push(notSupported(`${path}.effect`, effect, ["NoExecute", "NoSchedule"]));
  return errors;
}

/** Errors of a name that must have a domain, such as `gpu.example.com/model`. */
export function fullyQualifiedNameErrors(name: string, path: string): FieldError[] {
  const errors = qualifiedErrors(name, path);
  if (name !== "" && !name.includes("/")) errors.push(invalid(path, name, "must include a domain"));
  return errors;
}

function qualifiedErrors(name: string, path: string): FieldError[] {
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

function labelErrors(name: string, path: string): FieldError[] {
  if (name === "") return [required(path)];
  return nameProblems(name, "label").map((text) => invalid(path, name, text));
}

/**
 * Validation of ResourceSlices and their devices. It also sets the time of a device taint, and drops fields of
 * an alpha feature.
 * upstream: pkg/apis/resource/validation/validation.go
 */
import { canonicalQuantity } from "../../../base/canonical-quantity.ts";
import { formatBytes, parseNano, parseUnits } from "../../../base/quantity.ts";
import { forbidden, invalid, notSupported, required, tooLong } from "../schema/field-error.ts";
import { labelValueProblems, nameProblems, qualifiedNameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { labelErrors, poolNameErrors, qualifiedErrors } from "./device-names.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { atMost, eachOf, uniqueBy, uniqueValues } from "./list-rules.ts";
import { validateNodeSelector } from "./pod-placement-validation.ts";
import { validateImmutable } from "./selector-rules.ts";
import { driverNameErrors } from "./storage-rules.ts";

const MAX_DEVICES = 128;
const MAX_FIELDS = 32;
const MAX_COUNTERS = 32;
const MAX_TAINTS = 4;
const MAX_VALUE_BYTES = 64;
const MAX_VALID_VALUES = 10;
const MAX_COUNTERS_OF_DEVICE = 32;
const MAX_COUNTERS_OF_DEVICES = 1024;
const EFFECTS = ["NoExecute", "NoSchedule"];
const VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
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
        ...(name === "" ? [required(`${field}.name`)] : labelErrors(name, `${field}.name`)),
        ...counterMapErrors(counters, `${field}.counters`),
      ]),
      ...uniqueBy(sharedCounters, "name", "spec.sharedCounters"),
    ];
  },
  // Rules of Kubernetes 1.34 that later versions changed: from 1.35 on, counter sets are in another slice of the pool
  // than the devices that consume them, and a slice may have more counters. Only the sandbox's API server applies
  // them. Files for `plan` and others may come from a later cluster.
  validateAmong: ({ spec: { devices = [], sharedCounters = [] } = {} as Raw }) => [
    ...eachOf(devices, "spec.devices", ({ consumesCounters }, device) =>
      eachOf(consumesCounters, `${device}.consumesCounters`, (use, field) =>
        counterReferenceErrors(use, field, sharedCounters),
      ),
    ),
    ...countersOfDevices(devices),
    ...countersInAll(sharedCounters),
  ],
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
  const text = `the total number of shared counters must not exceed ${MAX_COUNTERS}`;
  const count = countersOf(sets);
  return count > MAX_COUNTERS ? [invalid("spec.sharedCounters", count, text)] : [];
}

function countersOfDevices(devices: readonly Raw[]): FieldError[] {
  const count = devices.reduce((sum, one) => sum + countersOf(one.consumesCounters ?? []), 0);
  const text = `the total number of counters in devices must not exceed ${MAX_COUNTERS_OF_DEVICES}`;
  return count > MAX_COUNTERS_OF_DEVICES ? [invalid("spec.devices", count, text)] : [];
}

function countersOf(sets: readonly Raw[]): number {
  return sets.reduce((sum, { counters = {} }) => sum + Object.keys(counters).length, 0);
}

function counterMapErrors(counters: Raw, path: string): FieldError[] {
  const names = Object.keys(counters);
  if (names.length === 0) return [required(path)];
  return names.flatMap((name) => labelErrors(name, `${path}[${name}]`));
}

function poolErrors(pool: Raw, path: string): FieldError[] {
  const { name = "", generation = 0, resourceSliceCount = 0 } = pool;
  const errors = poolNameErrors(name, `${path}.name`);
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
  errors.push(...nodeNameErrors(nodeName, "spec.nodeName"));
  if (allNodes === false) unset("allNodes", false, "true");
  if (perDeviceNodeSelection === false) unset("perDeviceNodeSelection", false, "true");
  if (nodeSelector !== undefined) errors.push(...oneTermErrors(nodeSelector, "spec.nodeSelector"));
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
  const errors = validateNodeSelector(selector, path);
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 1) return errors;
  const text = "must have exactly one node selector term";
  return [...errors, invalid(`${path}.nodeSelectorTerms`, terms, text)];
}

/** Errors of a node's name. A missing or empty name has none. */
function nodeNameErrors(name: string | undefined, path: string): FieldError[] {
  if (name === undefined || name === "") return [];
  return nameProblems(name, "subdomain").map((text) => invalid(path, name, text));
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
    ...counterErrors(consumesCounters, `${path}.consumesCounters`, path),
    ...deviceNodeErrors(device, path, spec.perDeviceNodeSelection === true),
  ];
}

function deviceNodeErrors(device: Raw, path: string, isOwnChoice: boolean): FieldError[] {
  const { nodeName, nodeSelector, allNodes } = device;
  const isUnset = nodeName === undefined && nodeSelector === undefined && allNodes === undefined;
  if (!isOwnChoice) {
    const text =
      "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    return isUnset ? [] : [invalid(path, null, text)];
  }
  const errors = nodeNameErrors(nodeName, `${path}.nodeName`);
  if (nodeName === "") errors.push(invalid(`${path}.nodeName`, "", "must not be empty"));
  if (nodeSelector !== undefined)
    errors.push(...validateNodeSelector(nodeSelector, `${path}.nodeSelector`));
  if (allNodes === false)
    errors.push(invalid(`${path}.allNodes`, false, "must be either unset or set to true"));
  const chosen = Object.entries({ nodeName, nodeSelector, allNodes })
    .filter(([, value]) => value !== undefined && value !== "" && value !== false)
    .map(([name]) => `\`${name}\``);
  if (chosen.length === 0) errors.push(required(path, ONE_WAY_OF_DEVICE));
  if (chosen.length > 1) errors.push(invalid(path, `{${chosen.join(", ")}}`, ONE_WAY_OF_DEVICE));
  return errors;
}

function counterErrors(uses: readonly Raw[], path: string, device: string): FieldError[] {
  const count = countersOf(uses);
  const text = `the total number of counters must not exceed ${MAX_COUNTERS_OF_DEVICE}`;
  return [
    ...eachOf(uses, path, ({ counterSet = "", counters = {} }, field) => [
      ...(counterSet === "" ? [required(`${field}.counterSet`)] : []),
      ...counterMapErrors(counters, `${field}.counters`),
    ]),
    ...uniqueBy(uses, "counterSet", path),
    ...(count > MAX_COUNTERS_OF_DEVICE ? [invalid(device, count, text)] : []),
  ];
}

function counterReferenceErrors(
  { counterSet = "", counters = {} }: Raw,
  path: string,
  sets: readonly Raw[],
): FieldError[] {
  const set = sets.find(({ name }) => name === counterSet);
  if (set === undefined) {
    const text = "must reference a counterSet defined in the ResourceSlice sharedCounters";
    return [invalid(`${path}.counterSet`, counterSet, text)];
  }
  const text = "must reference a counter defined in the ResourceSlice sharedCounters";
  return Object.keys(counters)
    .filter((name) => set.counters?.[name] === undefined)
    .map((name) => invalid(`${path}.counters`, name, text));
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
  const check = way === "validRange" ? rangeErrors : listedErrors;
  const rule = way === "validRange" ? validRange : validValues;
  return check(requestPolicy.default, rule, { value, path: `${at}.${way}` });
}

/** The value of a capacity, and the path of its request policy. */
interface PolicyAt {
  readonly value: string;
  readonly path: string;
}

function listedErrors(
  standard: string,
  options: readonly string[],
  { value, path }: PolicyAt,
): FieldError[] {
  return [
    ...options.flatMap((one, index) =>
      index > 0 && nano(options[index - 1] ?? "") > nano(one)
        ? [invalid(`${path}[${index}]`, one, "values must be sorted in ascending order")]
        : [],
    ),
    ...eachOf(options, path, (one, field) =>
      nano(one) > nano(value)
        ? [invalid(field, one, `option is larger than capacity value: ${value}`)]
        : [],
    ),
    ...atMost(options, MAX_VALID_VALUES, path),
    ...uniqueValues(
      options.map((one) => String(wholeOf(one))),
      path,
    ),
    ...(options.some((one) => nano(one) === nano(standard))
      ? []
      : [invalid(path, standard, "default value is not valid according to the requestPolicy")]),
  ];
}

function rangeErrors(
  standard: string,
  { min, max, step }: Raw,
  { value, path }: PolicyAt,
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
  if (step === undefined || wholeOf(step) === 0) return errors;
  if (nano(min) + nano(step) > nano(value)) {
    larger("step", step, `one step ${sumOf(min, step)} is larger than capacity value: ${value}`);
  }
  for (const one of max === undefined ? [standard] : [standard, max])
    if ((wholeOf(one) - wholeOf(min)) % wholeOf(step) !== 0)
      larger("step", one, `value is not a multiple of a given step (${step}) from (${min})`);
  return errors;
}

function nano(quantity: string): bigint {
  return parseNano(quantity) ?? 0n;
}

function wholeOf(quantity: string): number {
  return parseUnits(quantity) ?? 0;
}

/** The sum of two quantities, in the format of the first one, as in Go. */
function sumOf(one: string, other: string): string {
  const sum = nano(one) + nano(other);
  if (/i$/.test(one)) return formatBytes(Number(sum) / 1e9);
  return canonicalQuantity(`${sum}n`) ?? "";
}

function taintErrors({ key = "", value = "", effect = "" }: Raw, path: string): FieldError[] {
  return [
    ...qualifiedNameProblems(key).map((text) => invalid(`${path}.key`, key, text)),
    ...labelValueProblems(value).map((text) => invalid(`${path}.value`, value, text)),
    ...(effect === "" ? [required(`${path}.effect`)] : []),
    ...(effect === "" || EFFECTS.includes(effect)
      ? []
      : [notSupported(`${path}.effect`, effect, EFFECTS)]),
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
  if (effect !== "" && !EFFECTS.includes(effect))
    errors.push(notSupported(`${path}.effect`, effect, EFFECTS));
  return errors;
}

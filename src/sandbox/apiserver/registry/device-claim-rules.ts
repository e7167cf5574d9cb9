/**
 * Defaults and validation of ResourceClaims, ResourceClaimTemplates and DeviceClasses.
 * upstream: pkg/apis/resource/{v1/defaults.go,validation/validation.go}
 */
import { deviceSelectorProblem } from "../cel/device-selectors.ts";
import { invalid, notSupported, required, tooLong } from "../schema/field-error.ts";
import { nameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { adminRequestErrors, adminResultErrors } from "./device-admin-access.ts";
import { claimStatusErrors, withoutFreedDevices } from "./device-claim-status.ts";
import { fullyQualifiedNameErrors, labelErrors } from "./device-names.ts";
import { configErrors, referenceErrors, requestNames } from "./device-requests.ts";
import { deviceTolerationErrors } from "./device-rules.ts";
import type { KindRules, Raw } from "./kind-rules.ts";
import { atMost, eachOf, uniqueBy } from "./list-rules.ts";
import { validateImmutable } from "./selector-rules.ts";

const MAX_REQUESTS = 32;
const MAX_CONSTRAINTS = 32;
const MAX_CONFIGS = 32;
const MAX_SELECTORS = 32;
const MAX_SUBREQUESTS = 8;
const MAX_EXPRESSION_BYTES = 10 * 1024;

/** Defaults and validation of a ResourceClaim, including its status. */
export const RESOURCE_CLAIM_RULES: KindRules = {
  defaults(claim) {
    claim.spec ??= {};
    defaultRequests(claim.spec);
  },
  prepareStatus: withoutFreedDevices,
  validate(claim, current) {
    const spec = claim.spec ?? {};
    return [
      ...(current === undefined ? [] : validateImmutable(spec, current.spec ?? {}, "spec")),
      ...claimSpecErrors(spec, "spec"),
      ...(current === undefined ? [] : claimStatusErrors(claim, current)),
    ];
  },
  validateAmong: (claim, current, store) =>
    current === undefined
      ? adminRequestErrors(claim.spec?.devices, claim.metadata.namespace, store)
      : adminResultErrors(claim, current, store),
};

/** Defaults and validation of a ResourceClaimTemplate. */
export const RESOURCE_CLAIM_TEMPLATE_RULES: KindRules = {
  defaults(template) {
    template.spec ??= {};
    template.spec.spec ??= {};
    defaultRequests(template.spec.spec);
  },
  validate: ({ spec = {} }, current) => [
    ...(current === undefined ? [] : validateImmutable(spec, current.spec, "spec")),
    ...claimSpecErrors(spec.spec ?? {}, "spec.spec"),
  ],
  validateAmong: ({ spec, metadata }, current, store) =>
    current === undefined ? adminRequestErrors(spec?.spec?.devices, metadata.namespace, store) : [],
};

/**
 * Defaults and validation of a DeviceClass. `extendedResourceName` is dropped, as kube-apiserver does while the
 * gate DRAExtendedResource is off (the default before Kubernetes 1.36). The sandbox's kube-scheduler makes no
 * claims for extended resources.
 * upstream: pkg/registry/resource/deviceclass/strategy.go
 */
export const DEVICE_CLASS_RULES: KindRules = {
  defaults(deviceClass) {
    deviceClass.spec ??= {};
  },
  prepareCreate: ({ spec }) => {
    delete spec?.extendedResourceName;
  },
  prepareUpdate: ({ spec }) => {
    delete spec?.extendedResourceName;
  },
  validate: ({ spec = {} }) => [
    ...selectorErrors(spec.selectors, "spec.selectors"),
    ...atMost(spec.config, MAX_CONFIGS, "spec.config"),
    ...eachOf(spec.config, "spec.config", configErrors),
  ],
};

function defaultRequests({ devices }: Raw): void {
  for (const request of devices?.requests ?? [])
    for (const one of [request.exactly, ...(request.firstAvailable ?? [])]) {
      if (one === undefined) continue;
      if ((one.allocationMode ?? "") === "") one.allocationMode = "ExactCount";
      if (one.allocationMode === "ExactCount" && !one.count) one.count = 1;
      for (const toleration of one.tolerations ?? [])
        if ((toleration.operator ?? "") === "") toleration.operator = "Equal";
    }
}

function claimSpecErrors({ devices = {} }: Raw, path: string): FieldError[] {
  const { requests = [], constraints = [], config = [] } = devices;
  const at = `${path}.devices`;
  const names = requestNames(requests);
  return [
    ...eachOf(requests, `${at}.requests`, requestErrors),
    ...uniqueBy(requests, "name", `${at}.requests`),
    ...atMost(requests, MAX_REQUESTS, `${at}.requests`),
    ...eachOf(constraints, `${at}.constraints`, (one, field) => [
      ...referenceErrors(one.requests, `${field}.requests`, names),
      ...constraintErrors(one, field),
    ]),
    ...atMost(constraints, MAX_CONSTRAINTS, `${at}.constraints`),
    ...eachOf(config, `${at}.config`, (one, field) => [
      ...referenceErrors(one.requests, `${field}.requests`, names),
      ...configErrors(one, field),
    ]),
    ...atMost(config, MAX_CONFIGS, `${at}.config`),
  ];
}

function requestErrors(request: Raw, path: string): FieldError[] {
  const { name = "", exactly, firstAvailable = [] } = request;
  const errors = labelErrors(name, `${path}.name`);
  const isList = firstAvailable.length > 0;
  if (isList) {
    const at = `${path}.firstAvailable`;
    errors.push(
      ...eachOf(firstAvailable, at, (one, field) => [
        ...labelErrors(one.name ?? "", `${field}.name`),
        ...askErrors(one, field),
      ]),
      ...uniqueBy(firstAvailable, "name", at),
      ...atMost(firstAvailable, MAX_SUBREQUESTS, at),
    );
  }
  if (exactly !== undefined) errors.push(...askErrors(exactly, `${path}.exactly`));
  const text = "exactly one of `exactly` or `firstAvailable` is required";
  if (!isList && exactly === undefined) errors.push(required(path, text));
  if (isList && exactly !== undefined)
    errors.push(invalid(path, null, `${text}, but multiple fields are set`));
  return errors;
}

function askErrors(ask: Raw, path: string): FieldError[] {
  const { deviceClassName = "", allocationMode, count, selectors, tolerations } = ask;
  return [
    ...(deviceClassName === ""
      ? [required(`${path}.deviceClassName`)]
      : nameProblems(deviceClassName, "subdomain").map((text) =>
          invalid(`${path}.deviceClassName`, deviceClassName, text),
        )),
    ...selectorErrors(selectors, `${path}.selectors`),
    ...modeErrors(allocationMode, count ?? 0, path),
    ...eachOf(tolerations, `${path}.tolerations`, deviceTolerationErrors),
  ];
}

function modeErrors(mode: string, count: number, path: string): FieldError[] {
  if (mode === "All") {
    const text = "must not be specified when allocationMode is 'All'";
    return count === 0 ? [] : [invalid(`${path}.count`, count, text)];
  }
  if (mode === "ExactCount")
    return count > 0 ? [] : [invalid(`${path}.count`, count, "must be greater than zero")];
  return [notSupported(`${path}.allocationMode`, mode, ["All", "ExactCount"])];
}

function selectorErrors(selectors: Raw, path: string): FieldError[] {
  return [
    ...eachOf(selectors, path, ({ cel }, field) => {
      if (cel === undefined) return [required(`${field}.cel`)];
      const { expression = "" } = cel;
      const at = `${field}.cel.expression`;
      if (Buffer.byteLength(expression) > MAX_EXPRESSION_BYTES)
        return [tooLong(at, MAX_EXPRESSION_BYTES)];
      const problem = deviceSelectorProblem(expression);
      if (problem === undefined) return [];
      return [invalid(at, expression, `compilation failed: ${problem}`)];
    }),
    ...atMost(selectors, MAX_SELECTORS, path),
  ];
}

function constraintErrors({ matchAttribute, distinctAttribute }: Raw, path: string): FieldError[] {
  if (matchAttribute !== undefined)
    return fullyQualifiedNameErrors(matchAttribute, `${path}.matchAttribute`);
  if (distinctAttribute !== undefined)
    return fullyQualifiedNameErrors(distinctAttribute, `${path}.distinctAttribute`);
  return [required(`${path}.matchAttribute`)];
}

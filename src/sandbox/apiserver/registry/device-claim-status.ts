/**
 * Validation of a ResourceClaim's status, which kube-scheduler and drivers write.
 * upstream: pkg/apis/resource/validation/validation.go, pkg/registry/resource/resourceclaim/strategy.go
 */
import { deepEqual } from "../../../base/json.ts";
import { duplicate, forbidden, invalid, notSupported, required } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { labelErrors, poolNameErrors } from "./device-names.ts";
import {
  configErrors,
  rawObjectErrors,
  referenceError,
  referenceErrors,
  requestNames,
} from "./device-requests.ts";
import type { Raw } from "./kind-rules.ts";
import { atMost, eachOf, uniqueBy } from "./list-rules.ts";
import { validateNodeSelector } from "./pod-placement-validation.ts";
import { validateImmutable } from "./selector-rules.ts";
import { driverNameErrors } from "./storage-rules.ts";

const MAX_CONSUMERS = 256;
const MAX_RESULTS = 32;
const MAX_CONFIGS = 64;
const MAX_CONDITIONS = 8;
const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const UID_TEXT =
  "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";

/** Removes what drivers reported about devices that the claim does not hold any more. */
export function withoutFreedDevices(claim: Raw, current: Raw): void {
  const kept = allocatedIds(claim);
  const freed = new Set([...allocatedIds(current)].filter((id) => !kept.has(id)));
  const { devices } = claim.status ?? {};
  if (devices === undefined) return;
  claim.status.devices = devices.filter((one: Raw) => !freed.has(idOf(one)));
  if (claim.status.devices.length === 0) delete claim.status.devices;
}

/** Errors of a new status. */
export function claimStatusErrors(claim: Raw, current: Raw): FieldError[] {
  const { allocation, reservedFor = [] } = claim.status ?? {};
  const before = current.status ?? {};
  const path = "status.reservedFor";
  const errors = [
    ...eachOf(reservedFor, path, ({ resource = "", name = "", uid = "" }, field) => [
      ...(resource === "" ? [required(`${field}.resource`)] : []),
      ...(name === "" ? [required(`${field}.name`)] : []),
      ...(uid === "" ? [required(`${field}.uid`)] : []),
    ]),
    ...uniqueBy(reservedFor, "uid", path),
    ...atMost(reservedFor, MAX_CONSUMERS, path),
    ...reportErrors(claim),
  ];
  const known = new Set((before.reservedFor ?? []).map(({ uid }: Raw) => uid));
  const isGrown = reservedFor.some(({ uid }: Raw) => !known.has(uid));
  const isLeaving = claim.metadata.deletionTimestamp !== undefined;
  if (reservedFor.length > 0 && allocation === undefined)
    errors.push(forbidden(path, "may not be specified when `allocated` is not set"));
  else if (isGrown && isLeaving)
    errors.push(
      forbidden(
        path,
        "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
      ),
    );
  if (allocation === undefined) return errors;
  if (before.allocation === undefined)
    return [...errors, ...allocationErrors(allocation, claim, "status.allocation")];
  if (deepEqual(allocation, before.allocation)) return errors;
  return [...errors, ...validateImmutable(allocation, before.allocation, "status.allocation")];
}

function allocationErrors(
  { devices = {}, nodeSelector }: Raw,
  claim: Raw,
  path: string,
): FieldError[] {
  const names = requestNames(claim.spec?.devices?.requests ?? []);
  const at = `${path}.devices`;
  return [
    ...eachOf(devices.results, `${at}.results`, (one, field) => [
      ...referenceError(one.request ?? "", `${field}.request`, names),
      ...deviceIdErrors(one, field),
    ]),
    ...atMost(devices.results, MAX_RESULTS, `${at}.results`),
    ...eachOf(devices.config, `${at}.config`, (one, field) => [
      ...sourceErrors(one.source ?? "", `${field}.source`),
      ...referenceErrors(one.requests, `${field}.requests`, names),
      ...configErrors(one, field),
    ]),
    ...atMost(devices.config, MAX_CONFIGS, `${at}.config`),
    ...(nodeSelector === undefined
      ? []
      : validateNodeSelector(nodeSelector, `${path}.nodeSelector`)),
  ];
}

function sourceErrors(source: string, path: string): FieldError[] {
  if (source === "") return [required(path)];
  const known = ["FromClaim", "FromClass"];
  return known.includes(source) ? [] : [notSupported(path, source, known)];
}

/** Errors of what drivers report about the claim's devices. */
function reportErrors(claim: Raw): FieldError[] {
  const path = "status.devices";
  const reports: readonly Raw[] = claim.status?.devices ?? [];
  const allocated = allocatedIds(claim);
  const ids = reports.map(idOf);
  return [
    ...eachOf(reports, path, (one, field) => [
      ...deviceIdErrors(one, field),
      ...(allocated.has(idOf(one))
        ? []
        : [invalid(field, idOf(one), "must be an allocated device in the claim")]),
      ...atMost(one.conditions, MAX_CONDITIONS, `${field}.conditions`),
      ...(one.data === undefined ? [] : rawObjectErrors(one.data, `${field}.data`)),
    ]),
    ...ids.flatMap((id, at) =>
      ids.indexOf(id) < at ? [duplicate(`${path}[${at}].deviceID`, id)] : [],
    ),
  ];
}

function deviceIdErrors(
  { driver = "", pool = "", device = "", shareID }: Raw,
  path: string,
): FieldError[] {
  return [
    ...driverNameErrors(driver, `${path}.driver`),
    ...poolNameErrors(pool, `${path}.pool`),
    ...labelErrors(device, `${path}.device`),
    ...(shareID === undefined || UID.test(shareID)
      ? []
      : [invalid(`${path}.shareID`, shareID, UID_TEXT)]),
  ];
}

function allocatedIds({ status }: Raw): ReadonlySet<string> {
  return new Set(((status?.allocation?.devices?.results ?? []) as readonly Raw[]).map(idOf));
}

/** The device's identity as Go prints a SharedDeviceID. */
function idOf({ driver, pool, device, shareID }: Raw): string {
  return [driver, pool, device, ...(shareID === undefined ? [] : [shareID])].join("/");
}

/**
 * Fixes for pods whose resource claims (Dynamic Resource Allocation) name an object that is not in the input: a claim,
 * its template, or a DeviceClass.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { DeviceClaim } from "../../apis/resource/kinds.ts";
import { type PodClaimEntry, podClaimEntries } from "../../apis/resource/pod-claims.ts";
import type { DeviceFacts } from "../../core/devices/device-facts.ts";
import { addObject, type ObjectFix } from "./object-fix.ts";

/** The fix for the first object that the pod's claims lack. Undefined: they lack none. */
export function deviceFix(pod: Pod, devices: DeviceFacts): ObjectFix | undefined {
  const { namespace = "default" } = pod.metadata;
  for (const entry of podClaimEntries(pod)) {
    const fix = entryFix(entry, namespace, devices);
    if (fix !== undefined) return fix;
  }
  return undefined;
}

function entryFix(
  { claimName, templateName }: PodClaimEntry,
  namespace: string,
  { claims, templates, classes }: DeviceFacts,
): ObjectFix | undefined {
  if (claimName === null) return undefined;
  const claim = claims.find((one) => keyOf(one) === `${namespace}/${claimName}`);
  if (claim !== undefined) return classFix(claim.spec.devices, classes.map(keyOf));
  if (templateName === undefined)
    return addObject("ResourceClaim", `${namespace}/${claimName}`, claims.map(keyOf));
  const key = `${namespace}/${templateName}`;
  const template = templates.find((one) => keyOf(one) === key);
  return template === undefined
    ? addObject("ResourceClaimTemplate", key, templates.map(keyOf))
    : classFix(template.spec.spec.devices, classes.map(keyOf));
}

function classFix(
  { requests = [] }: DeviceClaim = {},
  known: readonly string[],
): ObjectFix | undefined {
  const wanted = requests.flatMap(({ exactly, firstAvailable = [] }) =>
    [...(exactly === undefined ? [] : [exactly]), ...firstAvailable].map(
      ({ deviceClassName }) => deviceClassName,
    ),
  );
  const missing = wanted.find((name) => !known.includes(name));
  return missing === undefined ? undefined : addObject("DeviceClass", missing, known);
}

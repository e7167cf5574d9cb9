/**
 * Protects instances in a zone with a zonal shift. They are not terminated or tagged, and never count as terminated.
 */
import type { AwsDeps, AwsParts } from "../parts.ts";

/**
 * Throws if the zone has a zonal shift. `what`: the subject of the error.
 * upstream also leaves such instances alone.
 */
export function checkNotShifted(
  { settings }: Pick<AwsDeps, "settings">,
  { shifts, subnets }: Pick<AwsParts, "shifts" | "subnets">,
  zone: string,
  what: string,
): void {
  if (settings.zonalShift !== true) return;
  // Until AWS has been asked once after the start, any zone may have a shift.
  if (!shifts.asked)
    throw new Error(`${what}: it is not known yet which zones are shifted; waiting for ARC`);
  const zoneId = subnets.zoneIdOf(zone);
  if (!shifts.mayHave(zoneId)) return;
  const id = zoneId === undefined ? "id not known yet" : zoneId;
  throw new Error(`${what}: traffic is shifted away from its zone ${zone} (${id}); waiting`);
}

/** The zone of an instance: `aws:///us-east-1a/i-0` → `us-east-1a`. */
export function zoneOf(providerId: string): string {
  return providerId.split("/").at(-2) ?? "";
}

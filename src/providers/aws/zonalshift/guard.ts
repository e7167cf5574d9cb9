/** Protects instances in a zone with a zonal shift: they are not terminated, tagged or counted as gone. */
import type { AwsDeps, AwsParts } from "../parts.ts";

/** upstream: in a shifted zone instances are neither ended nor tagged, nor taken for gone. */
export function checkNotShifted(
  { settings }: Pick<AwsDeps, "settings">,
  { shifts, subnets }: Pick<AwsParts, "shifts" | "subnets">,
  zone: string,
  what: string,
): void {
  if (settings.zonalShift !== true) return;
  // After a start, too: nothing is taken for gone before AWS has been asked.
  if (!shifts.asked) throw new Error(`${what}: it is not known yet which zones are shifted`);
  const zoneId = subnets.zoneIdOf(zone);
  if (!shifts.mayHave(zoneId)) return;
  const id = zoneId === undefined ? "id not known yet" : zoneId;
  throw new Error(`${what}: traffic is shifted away from its zone ${zone} (${id}); waiting`);
}

/** `aws:///us-east-1a/i-0` → `us-east-1a` */
export function zoneOf(providerId: string): string {
  return providerId.split("/").at(-2) ?? "";
}

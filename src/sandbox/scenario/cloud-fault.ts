/** Applies the cloud faults of a scenario to the simulated AWS account. */
import type { PoolMatch } from "../ec2/account/faults.ts";
import type { SimulatedAws } from "../ec2/simulated-aws.ts";
import type { CloudFault } from "./scenario.ts";

/** Injects the fault, or removes all faults. Throws for a zone or instance type that does not exist. */
export function applyCloudFault(aws: SimulatedAws, fault: CloudFault): void {
  for (const match of [fault.reclaimSpot, fault.spotPrices, fault.outOfCapacity])
    if (match !== undefined) checkIsThere(aws, match);
  if (fault.heal === true) aws.faults.clear();
  if (fault.neverJoin === true) aws.faults.neverJoin({});
  if (fault.reclaimSpot !== undefined) reclaimSpot(aws, fault.reclaimSpot);
  if (fault.spotPrices !== undefined) {
    const { instanceType, zone, factor } = fault.spotPrices;
    aws.faults.moveSpotPrices({ ...named({ instanceType, zone }), factor });
  }
  if (fault.quota !== undefined) aws.faults.limitQuota(fault.quota);
  if (fault.slowBootMs !== undefined) aws.faults.slowBoot({ byMs: fault.slowBootMs });
  if (fault.tellLateMs !== undefined) aws.faults.tellLate(fault.tellLateMs);
  if (fault.throttle !== undefined)
    aws.faults.throttle(...(fault.throttle === "*" ? [] : [fault.throttle]));
  if (fault.refuse !== undefined) {
    const { call, code } = fault.refuse;
    const action = call === "*" ? {} : { action: call };
    aws.faults.failCalls({ ...action, code, message: "refused, as the story tells", status: 403 });
  }
  if (fault.outOfCapacity !== undefined) aws.faults.limitCapacity(named(fault.outOfCapacity));
}

/** Removes fields with the value `*`, because a missing field matches everything. */
function named(match: Readonly<Record<string, string>>): PoolMatch {
  return Object.fromEntries(Object.entries(match).filter(([, value]) => value !== "*"));
}

/**
 * Throws for a zone or type that does not exist. Otherwise the scenario would report a fault that has no
 * effect.
 */
function checkIsThere(
  { state }: SimulatedAws,
  match: { zone: string; instanceType: string },
): void {
  const zones = state.zones.map(({ ZoneName }) => ZoneName);
  if (match.zone !== "*" && !zones.includes(match.zone))
    throw new Error(`zone: "${match.zone}": wanted one of ${zones.join(", ")}`);
  if (match.instanceType !== "*" && !state.catalogue.facts.has(match.instanceType))
    throw new Error(
      `instanceType: "${match.instanceType}": the simulated AWS has no such type; wanted one such as m5.large`,
    );
}

/**
 * Interrupts spot instances. Throws if none matches, because the scenario would then report something that did not
 * happen.
 */
function reclaimSpot(aws: SimulatedAws, wanted: CloudFault["reclaimSpot"] & object): void {
  const matching = [...aws.state.instances.values()]
    .filter(({ capacityType, state }) => capacityType === "spot" && state === "running")
    .filter(({ type }) => wanted.instanceType === "*" || type === wanted.instanceType)
    .filter(({ zone }) => wanted.zone === "*" || zone === wanted.zone)
    .sort((a, b) => a.launchedMs - b.launchedMs || (a.id < b.id ? -1 : 1));
  if (matching.length === 0) {
    throw new Error(`reclaiming spot instances: none runs that matches ${JSON.stringify(wanted)}`);
  }
  const chosen = wanted.count === 0 ? matching : matching.slice(0, wanted.count);
  for (const { id } of chosen) aws.controls.reclaimSpot(id);
}

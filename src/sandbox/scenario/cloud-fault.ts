/** What a story does to the cloud, done to the simulated account. */
import type { SimulatedAws } from "../ec2/simulated-aws.ts";
import type { CloudFault } from "./scenario.ts";

export function applyCloudFault(aws: SimulatedAws, fault: CloudFault): void {
  if (fault.heal === true) aws.faults.clear();
  if (fault.neverJoin === true) aws.faults.neverJoin({});
  if (fault.reclaimSpot !== undefined) reclaimSpot(aws, fault.reclaimSpot);
  if (fault.outOfCapacity === undefined) return;
  const { instanceType, zone, capacityType } = fault.outOfCapacity;
  aws.faults.limitCapacity({
    ...(instanceType === "*" ? {} : { instanceType }),
    ...(zone === "*" ? {} : { zone }),
    ...(capacityType === "*" ? {} : { capacityType: capacityType as "on-demand" | "spot" }),
  });
}

/** Throws when nothing matches: the story would go on about something that never happened. */
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

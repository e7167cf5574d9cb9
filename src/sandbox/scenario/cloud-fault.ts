/** What a story does to the cloud, done to the simulated account. */
import type { SimulatedAws } from "../ec2/simulated-aws.ts";
import type { CloudFault } from "./scenario.ts";

export function applyCloudFault(aws: SimulatedAws, fault: CloudFault): void {
  if (fault.heal === true) aws.faults.clear();
  if (fault.neverJoin === true) aws.faults.neverJoin({});
  if (fault.outOfCapacity === undefined) return;
  const { instanceType, zone, capacityType } = fault.outOfCapacity;
  aws.faults.limitCapacity({
    ...(instanceType === "*" ? {} : { instanceType }),
    ...(zone === "*" ? {} : { zone }),
    ...(capacityType === "*" ? {} : { capacityType: capacityType as "on-demand" | "spot" }),
  });
}

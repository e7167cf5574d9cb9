/**
 * EC2's quotas of vCPUs. Each limits the vCPUs of some instance families that an account runs in a region at the same
 * time, on demand or as spot. The codes are AWS's and never change; names and values are read from Service Quotas.
 * Page: docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
 */
import type { CapacityType } from "../../../core/cloudprovider/instance-type.ts";

/** Which launches a quota counts. */
export interface VcpuQuota {
  readonly code: string;
  readonly capacityType: Exclude<CapacityType, "reserved">;
  /** Letters before the first digit of a type's name, such as `m` or `inf`. */
  readonly families: readonly string[];
  /** The generation of the types that the quota counts. Absent: all. */
  readonly generation?: string;
}

const STANDARD = ["a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"];
const GRAPHICS = ["g", "gr", "vt"];

/** The vCPU quotas of AWS. A type counts against the first quota that fits it and that the account has. */
export const VCPU_QUOTAS: readonly VcpuQuota[] = [
  { code: "L-1216C47A", capacityType: "on-demand", families: STANDARD },
  { code: "L-DB2E81BA", capacityType: "on-demand", families: GRAPHICS },
  { code: "L-417A185B", capacityType: "on-demand", families: ["p"] },
  { code: "L-1945791B", capacityType: "on-demand", families: ["inf"] },
  { code: "L-2C3B7624", capacityType: "on-demand", families: ["trn"] },
  { code: "L-7295265B", capacityType: "on-demand", families: ["x"] },
  { code: "L-74FC7D96", capacityType: "on-demand", families: ["f"] },
  { code: "L-43DA4232", capacityType: "on-demand", families: ["u"] },
  { code: "L-6E869C2A", capacityType: "on-demand", families: ["dl"] },
  { code: "L-F7808C92", capacityType: "on-demand", families: ["hpc"] },
  { code: "L-34B43A08", capacityType: "spot", families: STANDARD },
  { code: "L-3819A6DF", capacityType: "spot", families: GRAPHICS },
  // Some regions have a separate quota for P5.
  { code: "L-C4BD4855", capacityType: "spot", families: ["p"], generation: "5" },
  { code: "L-7212CCBC", capacityType: "spot", families: ["p"] },
  { code: "L-B5D1601B", capacityType: "spot", families: ["inf"] },
  { code: "L-6B0D517C", capacityType: "spot", families: ["trn"] },
  { code: "L-E3A00192", capacityType: "spot", families: ["x"] },
  { code: "L-88CF9481", capacityType: "spot", families: ["f"] },
  { code: "L-85EED4F7", capacityType: "spot", families: ["dl"] },
];

/**
 * The code of the quota for an instance of this type and capacity type. Undefined: no quota among `known` counts it.
 */
export function quotaOf(
  instanceType: string,
  capacityType: CapacityType,
  known: { has(code: string): boolean },
): string | undefined {
  const [, family = "", generation = ""] = /^([a-z]+)(\d*)/.exec(instanceType) ?? [];
  return VCPU_QUOTAS.find(
    (one) =>
      one.capacityType === capacityType &&
      one.families.includes(family) &&
      (one.generation ?? generation) === generation &&
      known.has(one.code),
  )?.code;
}

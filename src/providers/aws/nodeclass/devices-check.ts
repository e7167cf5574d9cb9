/**
 * Finds block device settings that EBS never supports together. The class reports them, because EC2 would refuse each
 * launch. Limits that AWS raises from time to time, and newer volume types, are left to EC2, whose error then appears
 * on the claim.
 */
import type { BlockDeviceMapping } from "../../../apis/aws/ec2nodeclass.ts";
import type { TrialRefusal } from "./trials.ts";

const WITHOUT_IOPS: ReadonlySet<string> = new Set(["gp2", "st1", "sc1", "standard"]);
const WITHOUT_THROUGHPUT: ReadonlySet<string> = new Set([...WITHOUT_IOPS, "io1", "io2"]);
const NEEDS_IOPS: ReadonlySet<string> = new Set(["io1", "io2"]);

/**
 * Why EBS does not support these volumes. Undefined: nothing is wrong. A volume without a type gets the image's, which
 * only EC2 can check.
 */
export function deviceProblem(devices: readonly BlockDeviceMapping[]): TrialRefusal | undefined {
  const problems = devices.flatMap((device, index) => problemsOf(device, index));
  if (problems.length === 0) return undefined;
  return { reason: "BlockDeviceMappingsInvalid", message: problems.join("; ") };
}

function problemsOf({ ebs = {} }: BlockDeviceMapping, index: number): readonly string[] {
  const { volumeType = "", iops = 0, throughput = 0 } = ebs;
  const field = `spec.blockDeviceMappings[${index}].ebs`;
  const problems: string[] = [];
  if (iops > 0 && WITHOUT_IOPS.has(volumeType))
    problems.push(
      `${field}.iops: ${iops}, but volumes of type ${volumeType} take none; remove it, or use gp3`,
    );
  if (throughput > 0 && WITHOUT_THROUGHPUT.has(volumeType))
    problems.push(
      `${field}.throughput: ${throughput}, but volumes of type ${volumeType} take none; remove it, or use gp3`,
    );
  if (iops === 0 && NEEDS_IOPS.has(volumeType))
    problems.push(`${field}.iops: volumes of type ${volumeType} need it; give a number`);
  return problems;
}

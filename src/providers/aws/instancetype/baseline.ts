/**
 * The cpu that a burstable type can use all the time. EC2's API does not return it. The shares are from the table of
 * baseline utilization per vCPU in the EC2 user guide ("Key concepts for burstable performance instances").
 */
import type { Resources } from "../../../apis/resources.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";

/** Thousandths of a vCPU, by size, for T3 and later. */
const BASELINE_MILLI: Readonly<Record<string, number>> = {
  nano: 50,
  micro: 100,
  small: 200,
  medium: 200,
  large: 300,
  xlarge: 400,
  "2xlarge": 400,
};
/** Thousandths of a vCPU for the sizes of T2 that have less than the same size of T3. */
const BASELINE_T2_MILLI: Readonly<Record<string, number>> = { xlarge: 225, "2xlarge": 168 };
/** Thousandths of a vCPU for sizes that the table lacks. */
const UNKNOWN_MILLI = 200;

/** The CPU that a burstable type has without credits. Undefined: it is not burstable, so all its CPU counts. */
export function baselineOf(info: InstanceTypeInfo): Resources | undefined {
  if (info.BurstablePerformanceSupported !== true) return undefined;
  const [family = "", size = ""] = info.InstanceType.split(".");
  const older = family === "t2" ? BASELINE_T2_MILLI[size] : undefined;
  return { cpu: info.VCpuInfo.DefaultVCpus * (older ?? BASELINE_MILLI[size] ?? UNKNOWN_MILLI) };
}

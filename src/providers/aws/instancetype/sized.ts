/**
 * Leaves out instance types for which EC2 returns no vCPUs or no memory. Such a machine would be bought for pods
 * that it cannot run.
 */
import type { Logger } from "../../../base/log.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";

/** The types with vCPUs and memory. The others are logged. */
export function sizedOf(
  infos: readonly InstanceTypeInfo[],
  log: Pick<Logger, "warn"> | undefined,
): readonly InstanceTypeInfo[] {
  const unsized = infos.filter((info) => !isSized(info)).map((info) => info.InstanceType);
  if (unsized.length === 0) return infos;
  log?.warn("left out instance types for which EC2 returns no vCPUs or no memory", {
    "instance-types": unsized.slice(0, 5).join(", "),
    count: unsized.length,
  });
  return infos.filter(isSized);
}

function isSized({ VCpuInfo, MemoryInfo }: InstanceTypeInfo): boolean {
  const sizes = [VCpuInfo.DefaultVCpus, MemoryInfo.SizeInMiB];
  return sizes.every((size) => Number.isSafeInteger(size) && size > 0);
}

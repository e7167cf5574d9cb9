/**
 * How many cores of a machine are used, and how many threads of each: `spec.cpuOptions` of the class. EC2 wants both
 * numbers, so what the class leaves open is the type's own. karpenter-ts only.
 */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";

/** As a launch asks EC2 for them. */
export interface CpuChoice {
  readonly CoreCount: number;
  readonly ThreadsPerCore: number;
}

type Wanted = Pick<AwsClass, "coreCount" | "threadsPerCore">;

/** True if the class asks for other cores or threads than a type has. */
export function choosesCpu({ coreCount, threadsPerCore }: Wanted): boolean {
  return coreCount !== undefined || threadsPerCore !== undefined;
}

/** Undefined if the class asks for nothing, or for what the type cannot do. */
export function cpuChoice({ VCpuInfo }: InstanceTypeInfo, wanted: Wanted): CpuChoice | undefined {
  if (!choosesCpu(wanted)) return undefined;
  const { DefaultCores, DefaultThreadsPerCore, ValidCores, ValidThreadsPerCore } = VCpuInfo;
  const CoreCount = wanted.coreCount ?? DefaultCores;
  const ThreadsPerCore = wanted.threadsPerCore ?? DefaultThreadsPerCore;
  if (CoreCount === undefined || ThreadsPerCore === undefined) return undefined;
  // Types whose cores cannot be chosen, such as bare metal, have neither list.
  const isValid = ValidCores?.includes(CoreCount) && ValidThreadsPerCore?.includes(ThreadsPerCore);
  return isValid === true ? { CoreCount, ThreadsPerCore } : undefined;
}

/** The type with the vCPUs that its nodes will have. */
export function withCpuChoice(info: InstanceTypeInfo, wanted: Wanted): InstanceTypeInfo {
  const choice = cpuChoice(info, wanted);
  if (choice === undefined) return info;
  const DefaultVCpus = choice.CoreCount * choice.ThreadsPerCore;
  return { ...info, VCpuInfo: { ...info.VCpuInfo, DefaultVCpus } };
}

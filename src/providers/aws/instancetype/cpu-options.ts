/**
 * How many cores of an instance are used, and how many threads of each: `spec.cpuOptions` of the class. EC2 needs both
 * numbers, so the type's own number is used for one that the class leaves out. karpenter-ts only.
 */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";

/** The CPU options in the form of EC2's launch request. */
export interface CpuChoice {
  readonly CoreCount: number;
  readonly ThreadsPerCore: number;
}

type Wanted = Pick<AwsClass, "coreCount" | "threadsPerCore">;

/** Whether the class asks for other cores or threads than the type's own. */
export function choosesCpu({ coreCount, threadsPerCore }: Wanted): boolean {
  return coreCount !== undefined || threadsPerCore !== undefined;
}

/** The CPU options for a launch. Undefined: the class asks for none, or for some that the type does not have. */
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

/** The type with the number of vCPUs that its nodes will have. */
export function withCpuChoice(info: InstanceTypeInfo, wanted: Wanted): InstanceTypeInfo {
  const choice = cpuChoice(info, wanted);
  if (choice === undefined) return info;
  const DefaultVCpus = choice.CoreCount * choice.ThreadsPerCore;
  return { ...info, VCpuInfo: { ...info.VCpuInfo, DefaultVCpus } };
}

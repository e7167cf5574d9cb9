/**
 * What a class requires of an instance beyond the requirements of pods. Types that cannot do it are listed with
 * unavailable offerings.
 * upstream: pkg/providers/instancetype/compatibility
 */
import type { NetworkInterface } from "../../../apis/aws/ec2nodeclass.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import type { FoundPlacementGroup } from "../placementgroup/placement-groups.ts";
import { choosesCpu, cpuChoice } from "./cpu-options.ts";

/** What a node class requires of an instance type. */
export interface Needs {
  readonly interfaces: readonly NetworkInterface[];
  readonly nestedVirtualization: boolean;
  readonly enclaves: boolean;
  readonly cpu: Pick<AwsClass, "coreCount" | "threadsPerCore">;
  readonly connectionTracking: boolean;
  /** The strategy of the placement group. */
  readonly strategy: string | undefined;
  /** Whether A1 types (the first generation of Graviton) are excluded, because AL2023 has no image for them. */
  readonly noA1: boolean;
}

/** The needs of a node class and its placement group. */
export function needsOf(nodeClass: AwsClass, group: FoundPlacementGroup | undefined): Needs {
  return {
    interfaces: nodeClass.networkInterfaces,
    nestedVirtualization: nodeClass.nestedVirtualization === "enabled",
    enclaves: nodeClass.enclaves,
    cpu: { coreCount: nodeClass.coreCount, threadsPerCore: nodeClass.threadsPerCore },
    connectionTracking: nodeClass.connectionTracking !== undefined,
    strategy: group?.strategy,
    noA1: nodeClass.amiFamily === "AL2023" && nodeClass.generation === "v1",
  };
}

/** Whether the type meets the needs. */
export function serves(info: InstanceTypeInfo, needs: Needs): boolean {
  if (needs.noA1 && info.InstanceType.startsWith("a1.")) return false;
  if (needs.connectionTracking && info.Hypervisor !== "nitro") return false;
  if (
    needs.nestedVirtualization &&
    !(info.ProcessorInfo.SupportedFeatures ?? []).includes("nested-virtualization")
  ) {
    return false;
  }
  if (needs.enclaves && info.NitroEnclavesSupport !== "supported") return false;
  if (choosesCpu(needs.cpu) && cpuChoice(info, needs.cpu) === undefined) return false;
  const strategies = info.PlacementGroupInfo?.SupportedStrategies ?? [];
  if (needs.strategy !== undefined && !strategies.includes(needs.strategy)) return false;
  return needs.interfaces.length === 0 || hasInterfaces(info, needs.interfaces);
}

function hasInterfaces(info: InstanceTypeInfo, wanted: readonly NetworkInterface[]): boolean {
  const { EnaSupport, NetworkCards = [], EfaInfo, MaximumNetworkInterfaces } = info.NetworkInfo;
  if (EnaSupport === "unsupported") return false;
  const efaOnly = wanted.filter((one) => one.interfaceType === "efa-only").length;
  if (efaOnly > (EfaInfo?.MaximumEfaInterfaces ?? 0)) return false;
  return wanted.every(({ networkCardIndex, deviceIndex }) => {
    const card = NetworkCards.find((one) => one.NetworkCardIndex === networkCardIndex);
    const most =
      card?.MaximumNetworkInterfaces ??
      (networkCardIndex === 0 && NetworkCards.length === 0 ? MaximumNetworkInterfaces : 0);
    return deviceIndex < most;
  });
}

/**
 * Upstream's catalogue of fake instance types, by its formula instead of its file: 12 sizes x 3 memory
 * ratios x 2 systems x 2 architectures, each in four zones, on demand and (at 70 %) spot.
 * upstream: kwok/tools/gen_instance_types.go
 */
import {
  ARCH_LABEL_KEY,
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  OS_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import {
  KWOK_INSTANCE_CPU_LABEL_KEY,
  KWOK_INSTANCE_FAMILY_LABEL_KEY,
  KWOK_INSTANCE_MEMORY_LABEL_KEY,
  KWOK_INSTANCE_SIZE_LABEL_KEY,
} from "../../apis/kwok/kwoknodeclass.ts";
import type {
  CapacityType,
  InstanceType,
  Offering,
} from "../../core/cloudprovider/instance-type.ts";

/** Labels that the provider defines. A kwok claim may lack them and still satisfy a pod. */
export const KWOK_WELL_KNOWN_LABELS: readonly string[] = [
  KWOK_INSTANCE_SIZE_LABEL_KEY,
  KWOK_INSTANCE_FAMILY_LABEL_KEY,
  KWOK_INSTANCE_MEMORY_LABEL_KEY,
  KWOK_INSTANCE_CPU_LABEL_KEY,
];

const CPUS = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256];
const FAMILY_BY_GIB_PER_CPU = new Map([
  [2, "c"],
  [4, "s"],
  [8, "m"],
]);
const ZONES = ["test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"];
const OVERHEAD = { cpu: 100, memory: 10 * 2 ** 20 };
const EPHEMERAL_STORAGE_BYTES = 20 * 2 ** 30;

/** The 144 types, sorted by name. Each call returns the same objects. */
export function kwokInstanceTypes(): readonly InstanceType[] {
  catalogue ??= build();
  return catalogue;
}

let catalogue: readonly InstanceType[] | undefined;

function build(): readonly InstanceType[] {
  const types: InstanceType[] = [];
  for (const cpu of CPUS) {
    for (const [gibPerCpu, family] of FAMILY_BY_GIB_PER_CPU) {
      for (const os of ["linux", "windows"]) {
        for (const arch of ["amd64", "arm64"]) types.push(typeOf(cpu, gibPerCpu, family, os, arch));
      }
    }
  }
  return types.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function typeOf(
  cpu: number,
  gibPerCpu: number,
  family: string,
  os: string,
  arch: string,
): InstanceType {
  const name = `${family}-${cpu}x-${arch}-${os}`;
  const memoryBytes = cpu * gibPerCpu * 2 ** 30;
  // $0.025 an hour for a core and $0.001 an hour for a (decimal) gigabyte, in micro-dollars.
  const onDemandMicroUsd = Math.round(25_000 * cpu + (1_000 * memoryBytes) / 1e9);
  return {
    name,
    labels: {
      [INSTANCE_TYPE_LABEL_KEY]: [name],
      [ARCH_LABEL_KEY]: [arch],
      [OS_LABEL_KEY]: [os],
      [TOPOLOGY_ZONE_LABEL_KEY]: ZONES,
      [CAPACITY_TYPE_LABEL_KEY]: ["on-demand", "spot"],
      [KWOK_INSTANCE_SIZE_LABEL_KEY]: [String(cpu)],
      [KWOK_INSTANCE_FAMILY_LABEL_KEY]: [family],
      [KWOK_INSTANCE_MEMORY_LABEL_KEY]: [`${cpu * gibPerCpu}Gi`],
      [KWOK_INSTANCE_CPU_LABEL_KEY]: [String(cpu)],
    },
    capacity: {
      cpu: cpu * 1_000,
      memory: memoryBytes,
      pods: Math.min(16 * cpu, 1_024),
      "ephemeral-storage": EPHEMERAL_STORAGE_BYTES,
    },
    overhead: OVERHEAD,
    offerings: ZONES.flatMap((zone) => [
      offering(zone, "on-demand", onDemandMicroUsd),
      offering(zone, "spot", Math.round(onDemandMicroUsd * 0.7)),
    ]),
  };
}

function offering(zone: string, capacityType: CapacityType, priceMicroUsd: number): Offering {
  return { zone, capacityType, priceMicroUsd, available: true };
}

/**
 * The instance types that the simulated EC2 sells, from the embedded catalogue, and the answers to
 * DescribeInstanceTypes. Prices are those of us-east-1 in every region. GetProducts does not list a type
 * without a price.
 */
import { readFileSync } from "node:fs";
import { deepFreeze } from "../../../base/json.ts";
import { within } from "../../../base/within.ts";
import type { InstanceTypeInfo, NetworkCard } from "../../../providers/aws/api/images-and-types.ts";
import { type VolumeSlots, volumeSlotsOf } from "./volume-slots.ts";

/** One type as the catalogue file writes it; the file's `meta.fields` explains each key. */
interface Row {
  readonly cpu: number;
  readonly mem: number;
  readonly arch: "amd64" | "arm64";
  readonly by?: string;
  readonly mhz?: number;
  readonly hyp?: string;
  readonly ebs?: number;
  readonly nvme?: number;
  readonly net?: number;
  readonly enc?: number;
  readonly eni?: number;
  readonly ip?: number;
  readonly cards?: string;
  readonly branch?: number;
  readonly efa?: number;
  readonly gpu?: readonly [name: string, manufacturer: string, count: number, memoryMib: number];
  readonly acc?: readonly [name: string, manufacturer: string, count: number, cores: number];
  readonly usage?: readonly string[];
  readonly usd?: number;
}

/** Facts of an instance type that booting and pricing need. */
export interface TypeFacts {
  readonly name: string;
  readonly vcpus: number;
  readonly memoryMib: number;
  readonly arch: "amd64" | "arm64";
  readonly usageClasses: readonly string[];
  /** The most network interfaces of the first network card, and the addresses of each interface. 0: unknown. */
  readonly defaultCardInterfaces: number;
  readonly ipv4PerInterface: number;
  readonly branchInterfaces: number;
  readonly efaInterfaces: number;
  readonly gpu: { readonly manufacturer: string; readonly count: number } | undefined;
  readonly neuron: { readonly devices: number; readonly cores: number } | undefined;
  readonly localStorageGb: number;
  readonly bareMetal: boolean;
  readonly isXen: boolean;
  readonly volumeSlots: VolumeSlots;
  /** Micro-dollars an hour for Linux with shared tenancy (bare metal: dedicated). */
  readonly onDemandMicroUsd: number | undefined;
}

/** The instance types that are sold. */
export interface Catalogue {
  /** The names of all types, sorted. */
  readonly names: readonly string[];
  readonly facts: ReadonlyMap<string, TypeFacts>;
  /** What DescribeInstanceTypes shows. Frozen, and the same object in each call. */
  info(name: string): InstanceTypeInfo | undefined;
}

const MANUFACTURERS: Readonly<Record<string, string>> = {
  aws: "AWS",
  amd: "AMD",
  intel: "Intel",
  nvidia: "NVIDIA",
  habana: "Habana",
};

let embedded: Catalogue | undefined;

/** The catalogue in `data/aws`. Immutable, so all simulations share it. */
export function embeddedCatalogue(): Catalogue {
  if (embedded === undefined) {
    const file = new URL("../../../../data/aws/instance-types.json", import.meta.url);
    const parsed = JSON.parse(readFileSync(file, "utf8")) as { types: Record<string, Row> };
    embedded = createCatalogue(parsed.types);
  }
  return embedded;
}

const parts = new WeakMap<(type: string) => boolean, Catalogue>();

/**
 * The embedded catalogue without the types for which `sells` is false. Simulations that ask with the same function
 * share it.
 */
export function catalogueOf(sells: (type: string) => boolean): Catalogue {
  return within(parts, sells, () => {
    const { names, facts, info } = embeddedCatalogue();
    return {
      names: names.filter(sells),
      facts: new Map([...facts].filter(([name]) => sells(name))),
      info: (name) => (sells(name) ? info(name) : undefined),
    };
  });
}

function createCatalogue(rows: Readonly<Record<string, Row>>): Catalogue {
  const names = Object.keys(rows).sort();
  const facts = new Map<string, TypeFacts>();
  for (const name of names) facts.set(name, factsOf(name, rows[name] as Row));
  const infos = new Map<string, InstanceTypeInfo>();
  return {
    names,
    facts,
    info(name) {
      const known = infos.get(name);
      if (known !== undefined) return known;
      const row = rows[name];
      if (row === undefined) return undefined;
      const info = deepFreeze(infoOf(name, row));
      infos.set(name, info);
      return info;
    },
  };
}

function factsOf(name: string, row: Row): TypeFacts {
  const cards = networkCards(row);
  const isNeuron = row.acc !== undefined && row.acc[1] === "aws";
  return {
    name,
    vcpus: row.cpu,
    memoryMib: row.mem,
    arch: row.arch,
    usageClasses: row.usage ?? ["on-demand", "spot"],
    defaultCardInterfaces: cards[0]?.MaximumNetworkInterfaces ?? 0,
    ipv4PerInterface: row.ip ?? 0,
    branchInterfaces: row.branch ?? 0,
    efaInterfaces: row.efa ?? 0,
    gpu: row.gpu === undefined ? undefined : { manufacturer: row.gpu[1], count: row.gpu[2] },
    neuron:
      isNeuron && row.acc !== undefined
        ? { devices: row.acc[2], cores: row.acc[2] * row.acc[3] }
        : undefined,
    localStorageGb: row.nvme ?? 0,
    bareMetal: row.hyp === undefined,
    isXen: row.hyp === "xen",
    volumeSlots: volumeSlotsOf(name, row),
    onDemandMicroUsd: row.usd,
  };
}

/**
 * Types with one thread for each core, besides all ARM types: AMD types since the seventh generation, and
 * types for HPC.
 */
const ONE_THREAD = /^([cmr]([7-9]|\d\d)a|hpc)/;

function cpuInfo(name: string, row: Row): InstanceTypeInfo["VCpuInfo"] {
  const hasOne = row.arch === "arm64" || ONE_THREAD.test(name) || row.cpu % 2 === 1;
  const threads = hasOne ? 1 : 2;
  const cores = row.cpu / threads;
  const known = {
    DefaultVCpus: row.cpu,
    DefaultCores: cores,
    DefaultThreadsPerCore: threads,
  };
  // Bare metal types have fixed cores and threads.
  if (row.hyp === undefined) return known;
  return {
    ...known,
    ValidCores: Array.from({ length: cores }, (_, index) => index + 1),
    ValidThreadsPerCore: hasOne ? [1] : [1, 2],
  };
}

/** The network cards. `32x2` means 32 cards with two interfaces each. By default there is one card. */
function networkCards(row: Row): NetworkCard[] {
  const interfaces = row.eni ?? 0;
  if (row.cards === undefined) {
    return [{ NetworkCardIndex: 0, MaximumNetworkInterfaces: interfaces }];
  }
  const [count = 1, each = interfaces] = row.cards.split("x").map(Number);
  return Array.from({ length: count }, (_, index) => ({
    NetworkCardIndex: index,
    MaximumNetworkInterfaces: each,
  }));
}

function infoOf(name: string, row: Row): InstanceTypeInfo {
  const bareMetal = row.hyp === undefined;
  const manufacturer = row.by === undefined ? undefined : (MANUFACTURERS[row.by] ?? row.by);
  return {
    InstanceType: name,
    SupportedUsageClasses: row.usage ?? ["on-demand", "spot"],
    SupportedVirtualizationTypes: ["hvm"],
    BareMetal: bareMetal,
    BurstablePerformanceSupported: /^t\d/.test(name),
    ...(row.hyp === undefined ? {} : { Hypervisor: row.hyp }),
    ProcessorInfo: {
      SupportedArchitectures: [row.arch === "arm64" ? "arm64" : "x86_64"],
      ...(manufacturer === undefined ? {} : { Manufacturer: manufacturer }),
      ...(row.mhz === undefined ? {} : { SustainedClockSpeedInGhz: row.mhz / 1000 }),
    },
    VCpuInfo: cpuInfo(name, row),
    MemoryInfo: { SizeInMiB: row.mem },
    InstanceStorageSupported: row.nvme !== undefined,
    ...(row.nvme === undefined
      ? {}
      : { InstanceStorageInfo: { TotalSizeInGB: row.nvme, NvmeSupport: "required" } }),
    EbsInfo: {
      ...volumeSlotsOf(name, row),
      ...(row.ebs === undefined
        ? { EbsOptimizedSupport: "unsupported" }
        : {
            EbsOptimizedSupport: "default",
            EbsOptimizedInfo: { MaximumBandwidthInMbps: row.ebs },
          }),
    },
    NetworkInfo: networkInfo(row),
    ...gpuInfo(row),
    ...acceleratorInfo(row),
    PlacementGroupInfo: { SupportedStrategies: ["cluster", "partition", "spread"] },
    NitroEnclavesSupport: "unsupported",
  };
}

function networkInfo(row: Row): InstanceTypeInfo["NetworkInfo"] {
  const cards = networkCards(row);
  return {
    MaximumNetworkInterfaces: row.eni ?? 0,
    MaximumNetworkCards: cards.length,
    DefaultNetworkCardIndex: 0,
    NetworkCards: cards,
    Ipv4AddressesPerInterface: row.ip ?? 0,
    Ipv6AddressesPerInterface: row.ip ?? 0,
    EncryptionInTransitSupported: row.enc === 1,
    EfaSupported: row.efa !== undefined,
    ...(row.efa === undefined ? {} : { EfaInfo: { MaximumEfaInterfaces: row.efa } }),
    EnaSupport: row.hyp === "xen" ? "supported" : "required",
  };
}

function gpuInfo(row: Row): Pick<InstanceTypeInfo, "GpuInfo"> {
  if (row.gpu === undefined) return {};
  const [name, manufacturer, count, memoryMib] = row.gpu;
  return {
    GpuInfo: {
      Gpus: [
        {
          Name: name.toUpperCase().replaceAll("-", " "),
          Manufacturer: MANUFACTURERS[manufacturer] ?? manufacturer,
          Count: count,
          MemoryInfo: { SizeInMiB: memoryMib },
        },
      ],
      TotalGpuMemoryInMiB: count * memoryMib,
    },
  };
}

function acceleratorInfo(
  row: Row,
): Pick<InstanceTypeInfo, "NeuronInfo" | "InferenceAcceleratorInfo"> {
  if (row.acc === undefined) return {};
  const [name, manufacturer, count, cores] = row.acc;
  const Name = name.slice(0, 1).toUpperCase() + name.slice(1);
  const inference = {
    Accelerators: [
      { Name, Manufacturer: MANUFACTURERS[manufacturer] ?? manufacturer, Count: count },
    ],
  };
  if (manufacturer !== "aws") return { InferenceAcceleratorInfo: inference };
  const neuron = { NeuronDevices: [{ Name, Count: count, CoreInfo: { Count: cores } }] };
  return name.startsWith("inferentia")
    ? { InferenceAcceleratorInfo: inference, NeuronInfo: neuron }
    : { NeuronInfo: neuron };
}

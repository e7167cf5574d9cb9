/**
 * Makes data/aws/instance-types.json, the compact catalogue of EC2 instance types. The AWS provider uses it as a
 * fallback for prices and network figures, and the simulated EC2 answers from it. The input is a reference
 * catalogue made from the public documentation and tables of karpenter-provider-aws. Usage: npx tsx
 * scripts/catalogue.ts <reference.json>
 */
import { readFileSync, writeFileSync } from "node:fs";

interface Reference {
  readonly meta: Readonly<Record<string, unknown>> & {
    readonly commit: string;
    readonly pricesGeneratedAt: Readonly<Record<string, string>>;
  };
  readonly types: Readonly<Record<string, ReferenceType>>;
}

interface ReferenceType {
  readonly labels: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly network?: {
    readonly maxENIs: number;
    readonly ipv4PerENI: number;
    readonly branchENIs?: number;
    readonly trunking?: boolean;
    readonly cards: number | string;
    readonly bareMetal?: boolean;
  };
  readonly bandwidthMbps?: number;
  readonly onDemand: Readonly<Record<string, number>>;
  readonly ec2?: {
    readonly usageClasses: readonly string[];
    readonly cores: number;
    readonly ebs: { readonly baselineMbps: number };
  };
}

const PRICE_REGION = "us-east-1";

/** The meaning of each key of a row; written into the file as its documentation. */
const FIELDS = {
  cpu: "vCPUs",
  mem: "memory, MiB",
  arch: "amd64 or arm64",
  by: "CPU manufacturer",
  mhz: "sustained clock speed, MHz; absent if unknown",
  hyp: "hypervisor: nitro, xen; absent for bare metal",
  ebs: "maximum EBS bandwidth, Mbps; absent if not EBS-optimised by default",
  nvme: "local NVMe, total GB",
  net: "network bandwidth, Mbps; absent if only worded",
  enc: "1 = encryption in transit",
  eni: "network interfaces over all cards",
  ip: "IPv4 addresses an interface",
  cards: "CARDSxINTERFACES when there is more than one network card",
  branch: "branch interfaces (pods with security groups); absent = no trunking",
  efa: "EFA interfaces",
  gpu: "[name, manufacturer, count, memory MiB each]",
  acc: "[name, manufacturer, count, cores each]: Neuron or inference devices",
  usage: "usage classes, when not on-demand and spot",
  usd: `on-demand Linux price in ${PRICE_REGION}, micro-dollars an hour; absent if unpriced`,
};

function compact(type: ReferenceType): Record<string, unknown> {
  const label = (name: string): string | undefined =>
    type.labels[`karpenter.k8s.aws/instance-${name}`];
  const number = (name: string): number | undefined => {
    const text = label(name);
    return text === undefined ? undefined : Number(text);
  };
  const network = type.network ?? networkFromPods(Number(type.allocatable["pods"]));
  const usd = type.onDemand[PRICE_REGION];
  const family = label("family") ?? "";
  return {
    cpu: number("cpu"),
    mem: number("memory"),
    arch: type.labels["kubernetes.io/arch"],
    by: label("cpu-manufacturer"),
    mhz: number("cpu-sustained-clock-speed-mhz"),
    hyp: label("hypervisor") || undefined,
    ebs: number("ebs-bandwidth"),
    nvme: number("local-nvme"),
    net: type.bandwidthMbps,
    enc: label("encryption-in-transit-supported") === "true" ? 1 : undefined,
    eni: network.maxENIs,
    ip: network.ipv4PerENI,
    cards: typeof network.cards === "string" ? network.cards : undefined,
    branch: network.trunking === true ? network.branchENIs : undefined,
    efa: optionalNumber(type.allocatable["vpc.amazonaws.com/efa"]),
    gpu: device(label, "gpu", number("gpu-memory")),
    acc: device(label, "accelerator", coresPerDevice(type)),
    usage: usageClasses(family, type.ec2?.usageClasses),
    usd: usd === undefined ? undefined : Math.round(usd * 1e6),
  };
}

function device(
  label: (name: string) => string | undefined,
  prefix: string,
  last: number | undefined,
): unknown {
  const name = label(`${prefix}-name`);
  if (name === undefined) return undefined;
  const count = Number(label(`${prefix}-count`) ?? 0);
  return [name, label(`${prefix}-manufacturer`) ?? "", count, last ?? 0];
}

function coresPerDevice(type: ReferenceType): number {
  const devices = Number(type.allocatable["aws.amazon.com/neuron"] ?? 0);
  const cores = Number(type.allocatable["aws.amazon.com/neuroncore"] ?? 0);
  return devices === 0 ? 0 : cores / devices;
}

/**
 * The network of a type without an ENI row. The documented number of pods gives the interfaces, with 50 addresses for
 * each interface.
 */
function networkFromPods(pods: number): NonNullable<ReferenceType["network"]> {
  return { maxENIs: Math.max(1, Math.round((pods - 2) / 49)), ipv4PerENI: 50, cards: 1 };
}

function usageClasses(family: string, sampled: readonly string[] | undefined): unknown {
  if (sampled !== undefined) {
    return sampled.join() === "on-demand,spot" ? undefined : sampled;
  }
  // HPC families are sold on demand only.
  return family.startsWith("hpc") ? ["on-demand"] : undefined;
}

function optionalNumber(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

const path = process.argv[2];
if (path === undefined) throw new Error("usage: tsx scripts/catalogue.ts <reference.json>");
const reference = JSON.parse(readFileSync(path, "utf8")) as Reference;
const meta = {
  origin: "https://github.com/aws/karpenter-provider-aws (documentation and generated tables)",
  license: "Apache-2.0",
  commit: reference.meta.commit,
  pricesAt: reference.meta.pricesGeneratedAt[PRICE_REGION],
  priceRegion: PRICE_REGION,
  fields: FIELDS,
};
const rows = Object.keys(reference.types)
  .sort()
  .map((name) => {
    const row = compact(reference.types[name] as ReferenceType);
    return `${JSON.stringify(name)}:${JSON.stringify(row)}`;
  });
const text = `{"meta":${JSON.stringify(meta, null, 1)},\n"types":{\n${rows.join(",\n")}\n}}\n`;
writeFileSync(new URL("../data/aws/instance-types.json", import.meta.url), text);

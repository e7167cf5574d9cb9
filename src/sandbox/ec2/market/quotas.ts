/**
 * The vCPU quotas of the account. Each limits the running instances of some families, on demand or spot.
 * Without a fault the limits are very high. Service Quotas lists them, and launches beyond a quota are
 * refused with EC2's text.
 */
import type { CapacityReservation } from "../../../providers/aws/api/reservations.ts";
import type { ServiceQuota, ServiceQuotasApi } from "../../../providers/aws/api/service-quotas.ts";
import type { PoolMatch } from "../account/faults.ts";
import { pageOf } from "../account/filters.ts";
import type { Answers, AwsState, InstanceRecord } from "../account/state.ts";

/** One quota of EC2. */
interface VcpuQuota {
  readonly code: string;
  readonly name: string;
  readonly capacityType: "on-demand" | "spot";
  /** Letters before the first digit of the names of the types that the quota counts. */
  readonly families: readonly string[];
}

const STANDARD = ["a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"];

function quota(line: string, families: readonly string[]): VcpuQuota {
  const [code = "", ...words] = line.split(" ");
  const capacityType = line.includes("Spot") ? "spot" : "on-demand";
  return { code, name: words.join(" "), capacityType, families };
}

const QUOTAS: readonly VcpuQuota[] = [
  quota("L-1216C47A Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", STANDARD),
  quota("L-DB2E81BA Running On-Demand G and VT instances", ["g", "gr", "vt"]),
  quota("L-417A185B Running On-Demand P instances", ["p"]),
  quota("L-1945791B Running On-Demand Inf instances", ["inf"]),
  quota("L-2C3B7624 Running On-Demand Trn instances", ["trn"]),
  quota("L-7295265B Running On-Demand X instances", ["x"]),
  quota("L-74FC7D96 Running On-Demand F instances", ["f"]),
  quota("L-43DA4232 Running On-Demand High Memory instances", ["u"]),
  quota("L-6E869C2A Running On-Demand DL instances", ["dl"]),
  quota("L-F7808C92 Running On-Demand HPC instances", ["hpc"]),
  quota("L-34B43A08 All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", STANDARD),
  quota("L-3819A6DF All G and VT Spot Instance Requests", ["g", "gr", "vt"]),
  quota("L-7212CCBC All P Spot Instance Requests", ["p"]),
  quota("L-B5D1601B All Inf Spot Instance Requests", ["inf"]),
  quota("L-6B0D517C All Trn Spot Instance Requests", ["trn"]),
  quota("L-E3A00192 All X Spot Instance Requests", ["x"]),
  quota("L-88CF9481 All F Spot Instance Requests", ["f"]),
  quota("L-85EED4F7 All DL Spot Instance Requests", ["dl"]),
];

/** The default limit, which no simulation reaches. */
const WIDE_VCPUS = 1_000_000;
/** Maximum number of quotas in one answer. */
const PAGE = 100;

/** The calls of Service Quotas, for EC2's quotas only. */
export function quotaCalls(state: AwsState): Answers<ServiceQuotasApi> {
  return {
    listServiceQuotas(input) {
      const all = input.ServiceCode === "ec2" ? QUOTAS : [];
      const page = pageOf(all, input, { limit: PAGE, defaultSize: PAGE });
      return { Quotas: page.items.map((one) => shown(state, one)), ...page.next };
    },
  };
}

function shown(state: AwsState, { code, name, capacityType }: VcpuQuota): ServiceQuota {
  const vcpus = Math.min(WIDE_VCPUS, state.faults.quotaOf(capacityType, code));
  return { QuotaCode: code, QuotaName: name, Value: vcpus };
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/**
 * The refusal if one more instance would exceed its quota. A capacity reservation of the account counts as a whole, so
 * instances in reservations do not count again.
 */
export function quotaRefusal(
  state: AwsState,
  { instanceType, capacityType }: Pick<Required<PoolMatch>, "instanceType" | "capacityType">,
): Refusal | undefined {
  const bounding = quotaOf(instanceType, capacityType);
  if (bounding === undefined) return undefined;
  const limit = state.faults.quotaOf(capacityType, bounding.code);
  if (limit === Number.POSITIVE_INFINITY) return undefined;
  const vcpusOf = (type: string): number => state.catalogue.facts.get(type)?.vcpus ?? 0;
  const taken = [...state.instances.values()]
    .filter((one) => isCounted(one) && quotaOf(one.type, one.capacityType) === bounding)
    .reduce((sum, one) => sum + vcpusOf(one.type), 0);
  const reserved = [...state.capacityReservations.values()]
    .filter((one) => isOwnReservation(state, one))
    .filter((one) => quotaOf(one.InstanceType, "on-demand") === bounding)
    .reduce((sum, one) => sum + vcpusOf(one.InstanceType) * (one.TotalInstanceCount ?? 0), 0);
  if (taken + reserved + vcpusOf(instanceType) <= limit) return undefined;
  if (capacityType === "spot")
    return { code: "MaxSpotInstanceCountExceeded", message: "Max spot instance count exceeded" };
  const message = `You have requested more vCPU capacity than your current vCPU limit of ${limit} allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.`;
  return { code: "VcpuLimitExceeded", message };
}

function quotaOf(type: string, capacityType: string): VcpuQuota | undefined {
  const family = /^[a-z]+/.exec(type)?.[0] ?? "";
  return QUOTAS.find((one) => one.capacityType === capacityType && one.families.includes(family));
}

function isOwnReservation(state: AwsState, one: CapacityReservation): boolean {
  const isBlock = one.ReservationType === "capacity-block";
  return one.State === "active" && one.OwnerId === state.accountId && !isBlock;
}

function isCounted({ state, capacityReservationId }: InstanceRecord): boolean {
  return (state === "pending" || state === "running") && capacityReservationId === undefined;
}

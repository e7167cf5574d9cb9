/** Reads the account's vCPU quotas and what runs under them. The controller and `karpenter doctor` share it. */
import type { AwsApi } from "../api/aws-api.ts";
import { allPages } from "../api/call.ts";
import type { CapacityReservation } from "../api/reservations.ts";
import type { QuotaReading, Reserved } from "./quotas.ts";
import { VCPU_QUOTAS } from "./vcpu-quotas.ts";

const PAGE = 100;
const INSTANCES_PAGE = 1_000;
const RESERVATIONS_PAGE = 1_000;

/**
 * The quotas of vCPUs, by code, and what uses them: the account's pending and running instances in this region, and its
 * capacity reservations.
 */
export async function readQuotas({
  servicequotas,
  ec2,
}: Pick<AwsApi, "servicequotas" | "ec2">): Promise<
  Pick<QuotaReading, "quotas" | "running" | "reserved">
> {
  const [pages, instances, reservations] = await Promise.all([
    allPages((token) =>
      servicequotas.listServiceQuotas({ ServiceCode: "ec2", MaxResults: PAGE, ...token }),
    ),
    allPages((token) =>
      ec2.describeInstances({
        Filters: [{ Name: "instance-state-name", Values: ["pending", "running"] }],
        MaxResults: INSTANCES_PAGE,
        ...token,
      }),
    ),
    allPages((token) =>
      ec2.describeCapacityReservations({
        Filters: [{ Name: "state", Values: ["active"] }],
        MaxResults: RESERVATIONS_PAGE,
        ...token,
      }),
    ),
  ]);
  const ours = new Set(VCPU_QUOTAS.map(({ code }) => code));
  const quotas = pages
    .flatMap((page) => page.Quotas)
    // A quota without a number would refuse every launch.
    .filter(({ QuotaCode, Value }) => ours.has(QuotaCode) && Number.isFinite(Value))
    .map((one) => [one.QuotaCode, { name: one.QuotaName, vcpus: one.Value }] as const);
  const running = instances.flatMap((page) => page.Reservations.flatMap((one) => one.Instances));
  const accounts = new Set(
    instances.flatMap((page) => page.Reservations.flatMap(({ OwnerId }) => OwnerId ?? [])),
  );
  const reserved = reservations.flatMap((page) =>
    page.CapacityReservations.flatMap((one) => reservedBy(one, accounts)),
  );
  return { quotas: new Map(quotas), running, reserved };
}

/**
 * What a reservation takes of the account's quotas. A shared reservation counts for its owner alone. While no instance
 * runs, the account is not known, and no reservation counts. Capacity blocks count against no quota.
 */
function reservedBy(one: CapacityReservation, accounts: ReadonlySet<string>): readonly Reserved[] {
  const { OwnerId, InstanceType, ReservationType, TotalInstanceCount: count } = one;
  const isOwn = OwnerId !== undefined && accounts.has(OwnerId);
  if (!isOwn || ReservationType === "capacity-block" || count === undefined) return [];
  return [{ InstanceType, count }];
}

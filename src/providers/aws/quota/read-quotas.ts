/** Reads the account's vCPU quotas and what runs under them. The controller and `karpenter doctor` share it. */
import type { AwsApi } from "../api/aws-api.ts";
import { allPages } from "../api/call.ts";
import type { QuotaReading } from "./quotas.ts";
import { VCPU_QUOTAS } from "./vcpu-quotas.ts";

const PAGE = 100;
const INSTANCES_PAGE = 1_000;

/** The quotas of vCPUs, by code, and the account's pending and running instances in this region. */
export async function readQuotas({
  servicequotas,
  ec2,
}: Pick<AwsApi, "servicequotas" | "ec2">): Promise<Pick<QuotaReading, "quotas" | "running">> {
  const [pages, instances] = await Promise.all([
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
  ]);
  const ours = new Set(VCPU_QUOTAS.map(({ code }) => code));
  const quotas = pages
    .flatMap((page) => page.Quotas)
    // A quota without a number would refuse every launch.
    .filter(({ QuotaCode, Value }) => ours.has(QuotaCode) && Number.isFinite(Value))
    .map((one) => [one.QuotaCode, { name: one.QuotaName, vcpus: one.Value }] as const);
  const running = instances.flatMap((page) => page.Reservations.flatMap((one) => one.Instances));
  return { quotas: new Map(quotas), running };
}

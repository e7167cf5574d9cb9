/** How much of each vCPU quota of the account is used: read from AWS, and checked. */
import type { VcpuQuotaUse } from "../../apis/karpenter/facts.ts";
import type { Clock } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { firstLineOf } from "../../base/error-text.ts";
import type { AwsApi } from "../../providers/aws/api/aws-api.ts";
import { allPages } from "../../providers/aws/api/call.ts";
import { isNear, Quotas, useText } from "../../providers/aws/quota/quotas.ts";
import { readQuotas } from "../../providers/aws/quota/read-quotas.ts";
import type { CheckedItem } from "../checks/checks.ts";
import type { DoctorFacts, ReadQuotas } from "./facts.ts";

/** Maximum number of types that EC2 describes in one call by name. */
const TYPES_AT_ONCE = 100;

/** Reads the quotas and their use from AWS. An error becomes a part of the result. */
export function quotasOf(
  api: Pick<AwsApi, "servicequotas" | "ec2">,
  clock: Clock,
): () => Promise<ReadQuotas> {
  return async () => {
    try {
      const reading = await readQuotas(api);
      const types = [
        ...new Set([...reading.running, ...reading.reserved].map((one) => one.InstanceType)),
      ].sort();
      const quotas = new Quotas(clock);
      quotas.take({ askedMs: 0, ...reading, vcpus: await vcpusOf(api, types) });
      return { quotas: quotas.list() };
    } catch (error) {
      return { problem: firstLineOf(error) };
    }
  };
}

async function vcpusOf({ ec2 }: Pick<AwsApi, "ec2">, types: readonly string[]) {
  const vcpus = new Map<string, number>();
  for (let from = 0; from < types.length; from += TYPES_AT_ONCE) {
    const InstanceTypes = types.slice(from, from + TYPES_AT_ONCE);
    const pages = await allPages((token) => ec2.describeInstanceTypes({ InstanceTypes, ...token }));
    for (const page of pages)
      for (const one of page.InstanceTypes) vcpus.set(one.InstanceType, one.VCpuInfo.DefaultVCpus);
  }
  return vcpus;
}

/** One check for each quota in use, and one with the number of unused quotas. */
export function checkQuotas({ quotas: read }: DoctorFacts): readonly CheckedItem[] {
  const area = "quotas";
  if (read === undefined) return [];
  if ("problem" in read)
    return [
      {
        area,
        item: "EC2",
        state: "unknown",
        says: `They could not be read: ${read.problem}`,
        remedy:
          "allow servicequotas:ListServiceQuotas, ec2:DescribeInstances and ec2:DescribeCapacityReservations to whoever runs the doctor",
      },
    ];
  const [idle, used] = [false, true].map((is) => read.quotas.filter((one) => one.used > 0 === is));
  const told = (used as readonly VcpuQuotaUse[]).map(
    (one): CheckedItem => ({
      area,
      item: one.code,
      says: useText(one),
      ...(isNear(one)
        ? {
            state: "todo",
            remedy:
              "ask AWS for more in Service Quotas, or let NodePools launch other families or capacity types",
          }
        : { state: "ready" }),
    }),
  );
  const others = (idle as readonly VcpuQuotaUse[]).length;
  if (others === 0) return told;
  return [
    ...told,
    {
      area,
      item: "others",
      state: "ready",
      says: `nothing is used of ${counted(others, "quota")}`,
    },
  ];
}

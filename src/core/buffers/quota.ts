/**
 * How many pods of a CapacityBuffer the ResourceQuotas of its namespace still allow. Keeping room for pods that cannot
 * be created is useless. Cluster Autoscaler counts in the same way. Quotas with scopes are ignored, because they count
 * only some pods.
 */
import type { ResourceQuota } from "../../apis/core/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { podLimits, podRequests } from "../../apis/core/pod-resources.ts";
import { parseResources, type Resources } from "../../apis/resources.ts";
import { mostWithin } from "./size.ts";

/** The number of pods that quotas allow, and the quota that limits it. `by` absent: all wanted pods are allowed. */
export interface QuotaVerdict {
  readonly count: number;
  readonly by?: string;
}

/** The facts that limit the pods of one buffer. */
interface QuotaFacts {
  /** One of the buffer's pods. All of them are equal. */
  readonly sample: Pod;
  /** The quotas of the buffer's namespace. */
  readonly quotas: readonly ResourceQuota[];
  /** Pods of other buffers in the namespace whose names sort before this buffer's name. They use the quotas first. */
  readonly before: readonly Pod[];
}

/** How many of the `wanted` pods the quotas allow. */
export function allowedByQuotas(
  wanted: number,
  { sample, quotas, before }: QuotaFacts,
): QuotaVerdict {
  let allowed: QuotaVerdict = { count: wanted };
  const each = chargeOf(sample);
  for (const quota of quotas) {
    const most = mostWithin(roomOf(quota, before), each) ?? wanted;
    if (most < allowed.count) allowed = { count: most, by: quota.metadata.name };
  }
  return allowed;
}

function roomOf({ spec, status }: ResourceQuota, before: readonly Pod[]): Resources {
  if (spec?.scopes !== undefined || spec?.scopeSelector !== undefined) return {};
  const hard = parseAmounts(status?.hard ?? spec?.hard ?? {});
  const used = parseAmounts(status?.used ?? {});
  const room: Record<string, number> = {};
  for (const name of Object.keys(hard)) room[name] = (hard[name] ?? 0) - (used[name] ?? 0);
  for (const pod of before) {
    const charge = chargeOf(pod);
    for (const name in room) room[name] = (room[name] as number) - (charge[name] ?? 0);
  }
  return room;
}

/** The amounts that the pod uses of a quota, by the resource names of quotas. */
function chargeOf(pod: Pod): Resources {
  const requests = podRequests(pod);
  const charge: Record<string, number> = { pods: 1, "count/pods": 1 };
  for (const [name, amount] of Object.entries(requests)) {
    if (name === "pods") continue;
    charge[`requests.${name}`] = amount;
    if (name === "cpu" || name === "memory" || name === "ephemeral-storage") charge[name] = amount;
  }
  for (const [name, amount] of Object.entries(podLimits(pod))) charge[`limits.${name}`] = amount;
  return charge;
}

/** Parses amounts of a quota. Its resource names may have a prefix such as `requests.`. */
function parseAmounts(amounts: Readonly<Record<string, string | number>>): Resources {
  const parsed: Record<string, number> = {};
  for (const [name, amount] of Object.entries(amounts)) {
    const isCpu = name === "cpu" || name.endsWith(".cpu");
    const key = isCpu ? "cpu" : name;
    parsed[name] = parseResources({ [key]: amount })[key] ?? 0;
  }
  return parsed;
}

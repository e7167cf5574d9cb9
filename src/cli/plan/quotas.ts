/**
 * What the ResourceQuotas of a namespace leave for new pods. The API server refuses pods above a quota, so they do not
 * exist, and Karpenter plans nothing for them.
 */
import type { ResourceQuota } from "../../apis/core/kinds.ts";
import { isTerminal, type Pod } from "../../apis/core/pod.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { allowedByQuotas, type QuotaVerdict } from "../../core/buffers/quota.ts";

interface QuotaInput {
  /** One of the pods. All of them are equal. */
  readonly sample: Pod;
  readonly quotas: readonly ResourceQuota[];
  /** The pods of the input. A quota of a live cluster has them in its status. */
  readonly others: readonly Pod[];
  /** Pods that were made before these. They are in no status. */
  readonly made: readonly Pod[];
}

/**
 * How many of the wanted pods the quotas allow. A quota of a live cluster has its used amounts in its status. For a
 * quota in a file, the pods of the input are counted.
 */
export function withinQuotas(
  wanted: number,
  { sample, quotas, others, made }: QuotaInput,
): QuotaVerdict {
  const isBeside = ({ metadata }: KubeObject) => metadata.namespace === sample.metadata.namespace;
  const own = quotas.filter(isBeside);
  if (own.length === 0) return { count: wanted };
  const before = made.filter(isBeside);
  const live = own.filter(({ status }) => status?.used !== undefined);
  const written = own.filter(({ status }) => status?.used === undefined);
  const byLive = allowedByQuotas(wanted, { sample, quotas: live, before });
  const asking = [...others.filter((pod) => isBeside(pod) && !isTerminal(pod)), ...before];
  const byAll = allowedByQuotas(byLive.count, { sample, quotas: written, before: asking });
  return byAll.by === undefined ? byLive : byAll;
}

/** Resources that each container must set if a quota limits them. upstream: pkg/quota/v1/evaluator/core/pods.go */
const TO_BE_SET = ["requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/** The first quota that refuses the pod because a container does not set what it limits, and what must be set. */
export function quotaThatRefuses(
  { metadata, spec }: Pod,
  quotas: readonly ResourceQuota[],
): { readonly by: string; readonly unset: readonly string[] } | undefined {
  if (spec.resources !== undefined) return undefined;
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  for (const quota of quotas) {
    if (quota.metadata.namespace !== metadata.namespace) continue;
    const { hard = {}, scopes, scopeSelector } = quota.spec ?? {};
    if (scopes !== undefined || scopeSelector !== undefined) continue;
    const unset = TO_BE_SET.filter((name) => {
      const [list, resource] = name.split(".") as ["requests" | "limits", string];
      const isLimited = name in hard || (list === "requests" && resource in hard);
      return isLimited && containers.some((one) => one.resources?.[list]?.[resource] === undefined);
    });
    if (unset.length > 0) return { by: quota.metadata.name, unset };
  }
  return undefined;
}

/**
 * Reads the account's vCPU quotas and running instances every minute. Warns pools whose quota is nearly used up: by an
 * event, and by the condition QuotaNear. The condition is removed when that is over. If AWS does not answer, the last
 * values stay.
 */
import type { Pool } from "../../../apis/hub/pool.ts";
import { POOL_KINDS } from "../../../apis/hub/to-pool.ts";
import {
  condition,
  withLoneCondition,
  withoutCondition,
} from "../../../apis/karpenter/conditions.ts";
import type { VcpuQuotaUse } from "../../../apis/karpenter/facts.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import { isCompatible } from "../../../core/cloudprovider/offerings.ts";
import { Requirements } from "../../../core/scheduling/requirements.ts";
import { changeObject } from "../../../kube/client/change-object.ts";
import { tryEach } from "../../../kube/errors.ts";
import { AWAIT_CHANGE, type Controller, requeueAfter } from "../../../kube/manager/controller.ts";
import { quotaNear } from "../events.ts";
import { acceptedTypes } from "../instance/candidates.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { poolsIn } from "../pools.ts";
import { isNear, useText } from "./quotas.ts";
import { readQuotas } from "./read-quotas.ts";

const POLL_MS = 60_000;
const NAME = "quota";
const QUOTA_NEAR = "QuotaNear";

/**
 * Polls Service Quotas and EC2's list of instances. Without quota awareness it only removes conditions that an earlier
 * process has left.
 */
export function quotaController(deps: AwsDeps, parts: AwsParts): Controller {
  const { api, clock, events, mirrors, settings } = deps;
  const log = deps.log.with({ controller: NAME });
  let near: ReadonlySet<string> = new Set();

  async function read(): Promise<void> {
    const askedMs = clock.elapsedMs();
    const [reading, vcpus] = await Promise.all([readQuotas(api), parts.instanceTypes.vcpus()]);
    parts.quotas.take({ askedMs, ...reading, vcpus });
  }

  async function tell(): Promise<void> {
    const full = parts.quotas.list().filter(isNear);
    for (const one of full)
      if (!near.has(one.code)) log.warn("quota is nearly used up", { quota: useText(one) });
    near = new Set(full.map(({ code }) => code));
    await tryEach(poolsIn(mirrors), async ({ native, pool }) => {
      const own = full.length === 0 ? [] : usedBy(pool, full);
      for (const one of own) events.publish(quotaNear(native, one.code, useText(one)));
      await show(native, own);
    });
  }

  /** Those of the quotas under which the pool launches. */
  function usedBy(pool: Pool, quotas: readonly VcpuQuotaUse[]): readonly VcpuQuotaUse[] {
    const wanted = Requirements.fromSpecs(pool.requirements).and(
      Requirements.fromLabels(pool.labels),
    );
    const launched = new Set(
      acceptedTypes(wanted, parts.seen.of(pool.id)).flatMap(({ name, offerings }) =>
        offerings
          .filter((one) => isCompatible(one, wanted))
          .map(({ capacityType }) => parts.quotas.of(name, capacityType)),
      ),
    );
    return quotas.filter(({ code }) => launched.has(code));
  }

  async function show(native: KubeObject, near: readonly VcpuQuotaUse[]): Promise<void> {
    const kind = POOL_KINDS.find((one) => one.kind === native.kind);
    if (kind === undefined) return;
    const nowMs = clock.now();
    const message = near.map(useText).join("; ");
    const full = { type: QUOTA_NEAR, status: "True", reason: "VCPUsNearlyUsed", message } as const;
    if (near.length > 0)
      await changeObject(deps.kube, kind, native, (one) => withLoneCondition(one, full, nowMs));
    else if (condition(native, QUOTA_NEAR) !== undefined)
      await changeObject(deps.kube, kind, native, (one) => withoutCondition(one, QUOTA_NEAR));
  }

  return {
    name: NAME,
    concurrency: 1,
    watches: [],
    initialRequests: [{ kind: "Singleton", name: NAME }],
    reconcile: async () => {
      const isOn = settings.quotaAwareness === true;
      if (isOn) await read();
      await tell();
      return isOn ? requeueAfter(POLL_MS) : AWAIT_CHANGE;
    },
  };
}

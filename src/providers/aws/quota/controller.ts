/**
 * Reads the account's vCPU quotas and running instances every minute. Warns pools whose quota is nearly used up. If AWS
 * does not answer, the last values stay.
 */
import type { VcpuQuotaUse } from "../../../apis/karpenter/facts.ts";
import { isCompatible } from "../../../core/cloudprovider/offerings.ts";
import { Requirements } from "../../../core/scheduling/requirements.ts";
import { type Controller, requeueAfter } from "../../../kube/manager/controller.ts";
import { allPages } from "../api/call.ts";
import { quotaNear } from "../events.ts";
import { acceptedTypes } from "../instance/candidates.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { poolsIn } from "../pools.ts";
import { useText } from "./quotas.ts";
import { VCPU_QUOTAS } from "./vcpu-quotas.ts";

const POLL_MS = 60_000;
const NAME = "quota";
/** Percent of a quota from which on its pools are warned. */
const NEAR_PERCENT = 90;
const PAGE = 100;
const INSTANCES_PAGE = 1_000;

/** Polls Service Quotas and EC2's list of instances. */
export function quotaController(deps: AwsDeps, parts: AwsParts): Controller {
  const { api, clock, events, mirrors } = deps;
  const log = deps.log.with({ controller: NAME });
  let near: ReadonlySet<string> = new Set();

  async function read(): Promise<void> {
    const askedMs = clock.elapsedMs();
    const [pages, instances, vcpus] = await Promise.all([
      allPages((token) =>
        api.servicequotas.listServiceQuotas({ ServiceCode: "ec2", MaxResults: PAGE, ...token }),
      ),
      allPages((token) =>
        api.ec2.describeInstances({
          Filters: [{ Name: "instance-state-name", Values: ["pending", "running"] }],
          MaxResults: INSTANCES_PAGE,
          ...token,
        }),
      ),
      parts.instanceTypes.vcpus(),
    ]);
    const ours = new Set(VCPU_QUOTAS.map(({ code }) => code));
    const quotas = pages
      .flatMap((page) => page.Quotas)
      // A quota without a number would refuse every launch.
      .filter(({ QuotaCode, Value }) => ours.has(QuotaCode) && Number.isFinite(Value))
      .map((one) => [one.QuotaCode, { name: one.QuotaName, vcpus: one.Value }] as const);
    const running = instances.flatMap((page) => page.Reservations.flatMap((one) => one.Instances));
    parts.quotas.take({ askedMs, quotas: new Map(quotas), running, vcpus });
  }

  function tell(): void {
    const full = parts.quotas.list().filter(isNear);
    for (const one of full)
      if (!near.has(one.code)) log.warn("quota is nearly used up", { quota: useText(one) });
    near = new Set(full.map(({ code }) => code));
    if (full.length === 0) return;
    for (const { native, pool } of poolsIn(mirrors)) {
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
      for (const one of full)
        if (launched.has(one.code)) events.publish(quotaNear(native, one.code, useText(one)));
    }
  }

  return {
    name: NAME,
    concurrency: 1,
    watches: [],
    initialRequests: [{ kind: "Singleton", name: NAME }],
    reconcile: async () => {
      await read();
      tell();
      return requeueAfter(POLL_MS);
    },
  };
}

/** An account with a quota of 0 never had it, so there is nothing to warn about. */
function isNear({ allowed, used }: VcpuQuotaUse): boolean {
  return allowed > 0 && used * 100 >= allowed * NEAR_PERCENT;
}

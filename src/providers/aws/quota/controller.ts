/**
 * Reads the account's vCPU quotas and running instances every minute. Warns pools whose quota is nearly used up. If AWS
 * does not answer, the last values stay.
 */
import { isCompatible } from "../../../core/cloudprovider/offerings.ts";
import { Requirements } from "../../../core/scheduling/requirements.ts";
import { type Controller, requeueAfter } from "../../../kube/manager/controller.ts";
import { quotaNear } from "../events.ts";
import { acceptedTypes } from "../instance/candidates.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { poolsIn } from "../pools.ts";
import { isNear, useText } from "./quotas.ts";
import { readQuotas } from "./read-quotas.ts";

const POLL_MS = 60_000;
const NAME = "quota";

/** Polls Service Quotas and EC2's list of instances. */
export function quotaController(deps: AwsDeps, parts: AwsParts): Controller {
  const { api, clock, events, mirrors } = deps;
  const log = deps.log.with({ controller: NAME });
  let near: ReadonlySet<string> = new Set();

  async function read(): Promise<void> {
    const askedMs = clock.elapsedMs();
    const [reading, vcpus] = await Promise.all([readQuotas(api), parts.instanceTypes.vcpus()]);
    parts.quotas.take({ askedMs, ...reading, vcpus });
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

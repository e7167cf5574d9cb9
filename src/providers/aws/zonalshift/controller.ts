/**
 * Asks every half minute from which zones the cluster's traffic is shifted away, and publishes events on the pools that
 * could launch there. If AWS does not answer, known shifts stay until they end.
 * upstream: pkg/controllers/arczonalshift
 */

import { LABEL_TOPOLOGY_ZONE_ID } from "../../../apis/aws/labels.ts";
import type { Pool } from "../../../apis/hub/pool.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import { allows } from "../../../core/scheduling/requirement.ts";
import { Requirements } from "../../../core/scheduling/requirements.ts";
import { tryEach } from "../../../kube/errors.ts";
import { type Controller, requeueAfter } from "../../../kube/manager/controller.ts";
import { AwsError } from "../api/call.ts";
import type { Subnet } from "../api/network.ts";
import { zonalShiftActive, zonalShiftCleared } from "../events.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { poolsIn } from "../pools.ts";
import type { ShiftChange } from "./zonal-shifts.ts";

const POLL_MS = 30_000;
const NAME = "zonalshift";

/** A zone by AWS's id, `usw2-az1`, and by the account's name, `us-west-2a`. */
interface Zone {
  readonly id: string;
  readonly name: string;
}

const NOTHING: ShiftChange = { begun: [], ended: [] };

/** Polls ARC for zonal shifts, and marks the zone's offerings as unavailable. */
export function zonalShiftController(deps: AwsDeps, parts: AwsParts): Controller {
  const log = deps.log.with({ controller: NAME });
  /** Changes that have no event yet, by pool id. */
  const owed = new Map<string, ShiftChange>();

  async function ask(): Promise<void> {
    const resourceIdentifier = await parts.facts.arn();
    try {
      parts.shifts.take(await deps.api.zonalShift.getManagedResource({ resourceIdentifier }));
    } catch (error) {
      if (!(error instanceof AwsError) || error.code !== "ResourceNotFoundException") throw error;
      throw new AwsError(
        error.code,
        `${error.message} Turn it on: aws eks update-cluster-config --name ${deps.settings.clusterName} --zonal-shift-config enabled=true`,
        error.status,
        error,
      );
    }
  }

  /** Publishes the events on all pools. Rejects if the subnets of a pool cannot be read; that pool is retried. */
  async function tell(): Promise<void> {
    const change = parts.shifts.changes();
    for (const zone_id of change.begun)
      log.warn("zonal shift active, launching nothing there", { zone_id });
    for (const zone_id of change.ended) log.info("zonal shift cleared", { zone_id });
    const before = new Map(owed);
    owed.clear();
    await tryEach(poolsIn(deps.mirrors), async ({ native, pool }) => {
      const due = joined(before.get(pool.id) ?? NOTHING, change);
      try {
        await tellPool(native, pool, due);
      } catch (error) {
        owed.set(pool.id, due);
        throw error;
      }
    });
  }

  async function tellPool(native: KubeObject, pool: Pool, due: ShiftChange): Promise<void> {
    const found = parts.classes.ofPool(pool);
    if (due.begun.length + due.ended.length === 0 || found === undefined) return;
    const subnets = await parts.subnets.list(found.nodeClass);
    for (const { name, id } of reached(due.begun, pool, subnets))
      deps.events.publish(zonalShiftActive(native, name, id));
    for (const { name, id } of reached(due.ended, pool, subnets))
      deps.events.publish(zonalShiftCleared(native, name, id));
  }

  return {
    name: NAME,
    concurrency: 1,
    watches: [],
    initialRequests: [{ kind: "Singleton", name: NAME }],
    reconcile: async () => {
      try {
        await ask();
      } finally {
        parts.shifts.noteAsked();
        // A shift can end while AWS does not answer, so events are published all the same.
        await tell();
      }
      return requeueAfter(POLL_MS);
    },
  };
}

/** Both changes together. If both are about one zone, the later one counts. */
function joined(earlier: ShiftChange, later: ShiftChange): ShiftChange {
  const isOld = (zoneId: string): boolean =>
    !later.begun.includes(zoneId) && !later.ended.includes(zoneId);
  return {
    begun: [...earlier.begun.filter(isOld), ...later.begun].sort(),
    ended: [...earlier.ended.filter(isOld), ...later.ended].sort(),
  };
}

/** The zones in which the pool has a subnet. */
function reached(
  zoneIds: readonly string[],
  pool: Pool,
  subnets: readonly Subnet[],
): readonly Zone[] {
  return zoneIds.flatMap((id) => {
    const subnet = subnets.find((one) => one.AvailabilityZoneId === id && mayUse(pool, one));
    return subnet === undefined ? [] : [{ id, name: subnet.AvailabilityZone }];
  });
}

/** Whether the pool's requirements and labels allow the subnet's zone. */
function mayUse({ requirements, labels }: Pool, subnet: Subnet): boolean {
  const wanted = Requirements.fromSpecs(requirements).and(Requirements.fromLabels(labels));
  return (
    allows(wanted.get(TOPOLOGY_ZONE_LABEL_KEY), subnet.AvailabilityZone) &&
    allows(wanted.get(LABEL_TOPOLOGY_ZONE_ID), subnet.AvailabilityZoneId ?? "")
  );
}

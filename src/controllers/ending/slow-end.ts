/**
 * Waits for an instance whose termination the cloud has accepted. Some instances stay `running` or `shutting-down` for
 * hours. After 15 minutes an event is published, and the cloud is called less often.
 */
import { poolIdOfLabels } from "../../apis/hub/claim.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import { type Outcome, requeueAfter } from "../../kube/manager/controller.ts";
import { poolById } from "../pools.ts";
import type { World } from "../world.ts";
import { endingForMs } from "./end-instance.ts";
import { earlierNow } from "./two-clocks.ts";

/** How often the cloud is called to see whether an instance is gone. */
const POLL_MS = 5_000;
/**
 * Time after which a termination counts as slow. EC2 terminates most instances within five minutes, and bare metal
 * within about ten.
 */
const SLOW_MS = 15 * 60_000;
/** How often the cloud is called for an instance whose termination is slow. */
const SLOW_POLL_MS = 60_000;
const TELL_AGAIN_MS = 60 * 60_000;

/**
 * When to call the cloud again. After 15 minutes, publishes an event on `objects`. The claim's condition shows since
 * when it waits, even over restarts. A Node without a claim has no condition, so its wait counts from this process's
 * first call.
 */
export function awaitEnd(
  world: Pick<World, "clock" | "clockSkewMs" | "events" | "mirrors">,
  instance: NodeClaim,
  objects: readonly KubeObject[],
): Outcome {
  const { providerID = "" } = instance.status ?? {};
  const asked = condition(instance, "InstanceTerminating");
  const storedMs = asked?.status === "True" ? fromRfc3339(asked.lastTransitionTime) : undefined;
  const nowMs = earlierNow(world);
  const sinceMs = storedMs ?? nowMs - (endingForMs(world, providerID) ?? 0);
  if (nowMs - sinceMs < SLOW_MS) return requeueAfter(POLL_MS);
  world.events.publish(...instanceNotTerminated(objects, providerID, toRfc3339(sinceMs)));
  return requeueAfter(SLOW_POLL_MS);
}

/**
 * Publishes an event on the NodePool of a leaked instance that is terminated slowly. The instance has no claim, and
 * often no Node, for the event.
 */
export function tellSlowLeak(world: World, { metadata, status }: NodeClaim): void {
  const { providerID = "" } = status ?? {};
  const forMs = endingForMs(world, providerID) ?? 0;
  const pool = poolById(world, poolIdOfLabels(metadata.labels) ?? "")?.native;
  if (forMs < SLOW_MS || pool === undefined) return;
  const since = toRfc3339(earlierNow(world) - forMs);
  world.events.publish(...instanceNotTerminated([pool], providerID, since));
}

/**
 * Events that say that an instance is not terminated yet. Published once an hour; karpenter-ts only. `since`: as RFC
 * 3339.
 */
export function instanceNotTerminated(
  objects: readonly KubeObject[],
  providerId: string,
  since: string,
): readonly EventToPublish[] {
  return objects.map((object) => ({
    object,
    type: "Warning",
    reason: "InstanceNotTerminated",
    message: `The cloud was asked to terminate instance ${providerId} at ${since}, and still has it. Look at the instance in the cloud, and terminate it there`,
    dedupeValues: [object.metadata.name, providerId],
    dedupeMs: TELL_AGAIN_MS,
  }));
}

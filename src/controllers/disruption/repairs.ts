/**
 * The parts of carrying out a command that only node repair needs: the drain has its own time limit, a node that
 * recovers meanwhile is kept, and the cause of the repair is logged and counted.
 *
 */
import { withConditionChanges } from "../../apis/karpenter/conditions.ts";
import {
  NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY,
  REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import { type NodeClaim, REBOOTING } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import type { LogFields, Logger } from "../../base/log.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import type { Command } from "../../core/disruption/command.ts";
import type { CommandRecord } from "../../core/disruption/record.ts";
import type { BrokenCondition } from "../../core/repair/broken-conditions.ts";
import { withReboot } from "../../core/repair/reboots.ts";
import { changeClaim } from "../claims.ts";
import { permitReboot } from "../ending/permit-reboot.ts";
import { repairReason } from "../ending/repair-proof.ts";
import { laterNow } from "../ending/two-clocks.ts";
import type { World } from "../world.ts";
import { terminating } from "./events.ts";
import { countDecision, disruptedLabels, objectsOf, terminationModeOf } from "./labels.ts";
import { leave } from "./roll-back.ts";

/**
 * Limits the drain of the claim's node to `graceMs`, unless an earlier limit is set. Undefined: only the claim's own
 * grace period applies. Call this only when the node will surely be deleted: on a node that is kept, the limit would
 * shorten a later drain.
 */
export async function boundDrain(
  world: Pick<World, "kube" | "clock" | "clockSkewMs">,
  claim: NodeClaim,
  graceMs: number | undefined,
): Promise<void> {
  if (graceMs === undefined) return;
  const key = NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY;
  const atMs = laterNow(world) + graceMs;
  await changeClaim(world, claim, (one) => {
    const before = fromRfc3339(one.metadata.annotations?.[key]);
    if (before !== undefined && before <= atMs) return one;
    const annotations = { ...one.metadata.annotations, [key]: toRfc3339(atMs) };
    return { ...one, metadata: { ...one.metadata, annotations } };
  });
}

const STAYS = {
  recovered: "it has recovered",
  forbidden: "its repair is forbidden by now",
  gone: "its Node is gone",
} as const;

/**
 * Untaints a node that no longer needs a repair, and returns whether it did so. The Node is read from the API server.
 */
export async function openedAsRecovered(
  { world, log }: { readonly world: World; readonly log: Logger },
  { record }: { readonly record: CommandRecord },
  candidate: Candidate,
): Promise<boolean> {
  const reason = await repairReason(world, candidate.claim, candidate.node.node);
  if (reason === "broken") return false;
  await leave({ world, log }, candidate, { commandId: record.id, cause: STAYS[reason] });
  return true;
}

/**
 * Requests the reboot of the command's node, which the controller nodeclaim.reboot carries out. The node is neither
 * tainted nor replaced here, so the command is then finished. Rejects while a safety check or the brake forbids the
 * reboot.
 */
export async function requestReboot(
  world: World,
  command: Command,
  record: CommandRecord,
): Promise<void> {
  const [candidate] = command.candidates;
  if (candidate === undefined || command.repair === undefined) return;
  const { condition, graceMs } = command.repair;
  const { claim: known, node } = candidate;
  const live = await permitReboot(world, { claim: known, node: node.node, isClosed: false });
  if (live === "held")
    throw new Error(`the reboot of ${node.name} is held: events of its NodeClaim say why`);
  if (typeof live === "string") return;
  const nowMs = world.clock.now();
  const cause = `${condition.conditionType}/${condition.reason}`;
  const marked = await changeClaim(world, live, (claim) => {
    const asked = withReboot(withGrace(claim, graceMs), nowMs);
    const reason = record.reason;
    return withConditionChanges(
      asked,
      [
        { type: "DisruptionReason", status: "True", reason, message: reason },
        {
          type: REBOOTING,
          status: "True",
          reason: "RebootRequested",
          message: `rebooting for ${cause}`,
        },
      ],
      nowMs,
    );
  });
  if (marked === undefined) throw new Error(`claim ${candidate.claim.metadata.name} is gone`);
  world.log.with({ controller: "disruption" }).info("committed node reboot", {
    "command-id": record.id,
    Node: { name: candidate.node.name },
    NodeClaim: { name: candidate.claim.metadata.name },
  });
  world.events.publish(
    ...terminating(objectsOf(candidate), candidate.generation, `${record.reason}, by a reboot`),
  );
  const labels = disruptedLabels(record, candidate);
  world.metrics.count("nodeclaims_disrupted_total", labels);
  world.metrics.count(
    "pods_disruption_initiated_total",
    labels,
    candidate.reschedulablePods.length,
  );
  countCommand(world, command, record);
}

function withGrace(claim: NodeClaim, graceMs: number | undefined): NodeClaim {
  const { [REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY]: _, ...others } =
    claim.metadata.annotations ?? {};
  const annotations =
    graceMs === undefined
      ? others
      : {
          ...others,
          [REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY]: formatDuration(graceMs),
        };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

/** The fields of a broken condition in a log line, in upstream's order. */
export function conditionFields({ policy, ...condition }: BrokenCondition): LogFields {
  const { reasonRegex, action } = policy;
  return {
    condition: condition.conditionType,
    status: condition.conditionStatus,
    reason: condition.reason,
    "reason-regex": reasonRegex?.source ?? "",
    fallback: reasonRegex === undefined,
    action,
    "eligible-at": toRfc3339(condition.dueMs),
  };
}

/** Logs which repair policy a command follows. */
export function tellRepair(world: World, { candidates, repair }: Command): void {
  const [one] = candidates;
  if (repair === undefined || one === undefined) return;
  const { condition, graceOf, isEscalated, action } = repair;
  world.log.with({ controller: "disruption" }).info("selected repair policy", {
    Node: { name: one.node.name },
    NodeClaim: { name: one.claim.metadata.name },
    ...conditionFields(condition),
    action,
    ...(graceOf === undefined
      ? {}
      : {
          "termination-grace-period": formatDuration(graceOf.policy.terminationGracePeriodMs ?? 0),
          "termination-grace-period-condition": graceOf.conditionType,
        }),
    ...(isEscalated ? { "reboot-escalated": true } : {}),
  });
}

/** Counts a command that has begun. A repair is also counted by the condition that caused it. */
export function countCommand(world: World, command: Command, record: CommandRecord): void {
  countDecision(world, command, record);
  const { candidates, repair } = command;
  const [one] = candidates;
  if (repair === undefined || one === undefined) return;
  world.metrics.count("nodeclaims_unhealthy_disrupted_total", {
    condition: snakeCase(repair.condition.conditionType),
    nodepool: one.pool.name,
    capacity_type: one.capacityType,
    image_id: one.claim.status?.imageID ?? "",
    termination_mode: terminationModeOf(repair.graceMs),
  });
}

/**
 * Converts a name to snake case: `KWOKRebootRequired` → `kwok_reboot_required`. upstream: pkg/utils/pretty/pretty.go
 */
export function snakeCase(text: string): string {
  const starts = /(?<=.)(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])/g;
  return text.replaceAll(starts, "_").toLowerCase();
}

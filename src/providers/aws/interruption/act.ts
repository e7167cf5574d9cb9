/**
 * Acts on one interruption message. For each claim of its instances it publishes an event and, for some messages, marks
 * the offering as unavailable. It also deletes the claim if the message requires that, and the node is then drained and
 * replaced. A claim is deleted once, no matter how many messages name it.
 */

import { LABEL_CAPACITY_RESERVATION_ID } from "../../../apis/aws/labels.ts";
import { NODE } from "../../../apis/core/node.ts";
import { claimGeneration, claimKind, poolIdOfLabels } from "../../../apis/hub/claim.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  CAPACITY_TYPE_SPOT,
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { terminationMode } from "../../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import type { LogFields } from "../../../base/log.ts";
import { deleteSame } from "../../../kube/client/delete-same.ts";
import { tryEach } from "../../../kube/errors.ts";
import type { AwsDeps, AwsParts } from "../parts.ts";
import { ClaimIndex } from "./claim-index.ts";
import type { InterruptionMessage } from "./messages.ts";
import { type ActingKind, happened, REACTIONS, type Reaction, terminating } from "./reactions.ts";

/** Carries out the reaction to a message. It rejects if the message must be received again. */
export type HandleMessage = (message: InterruptionMessage) => Promise<void>;

/** Resolves when the message is handled; rejects if it must be received again. */
export function createActor(deps: AwsDeps, parts: AwsParts): HandleMessage {
  /** UIDs of claims that were deleted here. The mirror may still show them as not deleted. */
  const asked = new Set<string>();
  const nodes = deps.mirrors.of(NODE);
  const claims = new ClaimIndex(deps.mirrors, (claim) => {
    asked.delete(uidOf(claim));
    parts.takenBack.delete(uidOf(claim));
  });

  return async ({ kind, instanceIds }) => {
    if (kind === "no_op" || kind === "unreadable") return;
    const named = instanceIds.flatMap((id) => claims.ofInstance(id));
    await tryEach(named, (claim) => actOn(claim, kind));
  };

  async function actOn(claim: KubeObject, kind: ActingKind): Promise<void> {
    const reaction = REACTIONS[kind];
    const isLeaving = claim.metadata.deletionTimestamp !== undefined || asked.has(uidOf(claim));
    if (isLeaving && reaction.quietWhenDeleting) return;
    const node = nodes.get((claim as { status?: { nodeName?: string } }).status?.nodeName ?? "");
    const objects = node === undefined ? [claim] : [claim, node];
    deps.events.publish(...happened(reaction, objects));
    const leaves = reaction.action === "CordonAndDrain" || isEarly(kind);
    // The claim is noted even if it is already being deleted, because its drain may take longer than EC2 allows.
    if (leaves) parts.takenBack.add(uidOf(claim));
    if (reaction.marksOffering || isEarly(kind)) markOffering(parts, claim, kind);
    if (kind === "capacity_reservation_interrupted") markReservation(parts, claim, kind);
    if (!leaves || isLeaving) return;
    if (!(await remove(claim))) return;
    const acting = { ...reaction, action: "CordonAndDrain" as const };
    const fields = fieldsOf(acting, kind, claim, node);
    deps.log.info("initiating delete from interruption message", fields);
    deps.events.publish(...terminating(objects));
    countDisrupted(deps, claim, kind);
  }

  /**
   * Whether the message is a rebalance recommendation, which comes before the warning of two minutes, and the settings
   * say to act on it. karpenter-ts only.
   */
  function isEarly(kind: ActingKind): boolean {
    return kind === "rebalance_recommendation" && deps.settings.actOnRebalance === true;
  }

  /** Deletes the claim. False: it did not exist any more. */
  async function remove(claim: KubeObject): Promise<boolean> {
    asked.add(uidOf(claim));
    try {
      const isBegun = await deleteSame(deps.kube, claimKind(claim), claim);
      if (!isBegun) asked.delete(uidOf(claim));
      return isBegun;
    } catch (error) {
      asked.delete(uidOf(claim));
      throw error;
    }
  }
}

function uidOf({ kind, metadata }: KubeObject): string {
  return metadata.uid ?? `${kind}/${metadata.name}`;
}

/** Marks the claim's spot offering as unavailable for a while, because EC2 takes this capacity back. */
function markOffering({ unavailable }: AwsParts, claim: KubeObject, kind: ActingKind): void {
  const labels = claim.metadata.labels ?? {};
  const instanceType = labels[INSTANCE_TYPE_LABEL_KEY];
  const zone = labels[TOPOLOGY_ZONE_LABEL_KEY];
  if (instanceType === undefined || zone === undefined) return;
  unavailable.mark(kind, { capacityType: CAPACITY_TYPE_SPOT, instanceType, zone });
}

/**
 * EC2 takes the reservation back, so nothing is launched into it for a while.
 * upstream: v1.15
 */
function markReservation({ unavailable }: AwsParts, claim: KubeObject, kind: ActingKind): void {
  const labels = claim.metadata.labels ?? {};
  const instanceType = labels[INSTANCE_TYPE_LABEL_KEY];
  const zone = labels[TOPOLOGY_ZONE_LABEL_KEY];
  const reservation = labels[LABEL_CAPACITY_RESERVATION_ID];
  if (instanceType === undefined || zone === undefined || reservation === undefined) return;
  unavailable.mark(kind, { capacityType: "reserved", instanceType, zone, reservation });
}

/** Fields of the log line, named as the generation of the claim names them. */
function fieldsOf(
  { action, formerKind }: Reaction,
  kind: ActingKind,
  claim: KubeObject,
  node: KubeObject | undefined,
): LogFields {
  const generation = claimGeneration(claim);
  const { name } = claim.metadata;
  const nodeName = node?.metadata.name;
  if (generation === "v1") {
    const Node = nodeName === undefined ? {} : { Node: { name: nodeName } };
    return { messageKind: kind, NodeClaim: { name }, action, ...Node };
  }
  return {
    messageKind: formerKind,
    [vocabulary(generation).claimNoun]: name,
    action,
    ...(nodeName === undefined ? {} : { node: nodeName }),
  };
}

/** Counts the claim in the core's metric of disrupted claims. */
function countDisrupted({ metrics }: AwsDeps, claim: KubeObject, kind: ActingKind): void {
  const { labels } = claim.metadata;
  const pool = poolIdOfLabels(labels) ?? "";
  metrics.count("nodeclaims_disrupted_total", {
    reason: kind,
    nodepool: pool.slice(pool.indexOf("/") + 1),
    capacity_type: labels?.[CAPACITY_TYPE_LABEL_KEY] ?? "",
    consolidation_policy: "",
    termination_mode: terminationMode(claim),
  });
}

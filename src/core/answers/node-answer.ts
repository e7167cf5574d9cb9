/**
 * The answer about one node: why it exists, why it has its instance type, why it is not removed, and which command is
 * next. The next command is the one that the disruption loop would propose now.
 */

import type { Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import type { RoomKept } from "../buffers/room.ts";
import { savingsMicroUsd } from "../disruption/command.ts";
import type { Picture } from "../disruption/make-round.ts";
import { replacementCommandId } from "../disruption/record.ts";
import type { FoundCommands } from "../disruption/run-round.ts";
import { shapeIssues } from "../nodeclaim/consistent.ts";
import { expiry } from "../nodeclaim/expired.ts";
import type { NodeView } from "../state/node-view.ts";
import type { BrakeAnswer } from "./brake-answer.ts";
import { type CommandAnswer, commandAnswer, usd } from "./command-answer.ts";
import { type Hold, holdText } from "./hold.ts";
import { aloneCommand, holdsOf } from "./holds.ts";
import { type LaunchChoice, launchChoice } from "./launch-choice.ts";
import { type MoveAnswer, moveAnswers } from "./move-answer.ts";
import { type Owned, ownedNode } from "./owned-node.ts";
import { repackAnswer } from "./repack-answer.ts";
import { type RepairAnswer, type Repairs, repairAnswer } from "./repair-answer.ts";

/** The answer of `karpenter explain node -o json`. The format stays compatible. */
export interface NodeAnswer {
  readonly kind: "Node";
  readonly name: string;
  /** The time of the answer, as RFC 3339. */
  readonly at: string;
  readonly says: string;
  /** Whether the node has a NodeClaim. If not, the only further field is `next`. */
  readonly managed: boolean;
  readonly nodeClaim?: string;
  readonly nodePool?: string;
  readonly origin?: LaunchOrigin;
  readonly type?: LaunchChoice;
  /** Resources of which the node has less than its claim says. Absent: there are none. */
  readonly inconsistencies?: readonly string[];
  /** Pods that would have to move if the node were removed. Daemon pods and mirror pods are not included. */
  readonly pods?: readonly string[];
  /** Room that is kept on the node for CapacityBuffers. Absent: none. */
  readonly headroom?: readonly RoomKept[];
  /** Conditions of the claim that lead to its disruption, such as Drifted. */
  readonly marks?: readonly Mark[];
  readonly expires?: { readonly at: string; readonly mode: "forceful" | "voluntary" };
  /** Why the node is not disrupted, the most important reason first. Empty: nothing protects it. */
  readonly holds?: readonly Hold[];
  /** The node's unhealthy condition, and when it will be repaired. Absent: the node is healthy. */
  readonly repair?: RepairAnswer;
  /** The brake, which stops involuntary terminations in the whole cluster. Absent: it is off. */
  readonly brake?: BrakeAnswer;
  /** What the last events say for which the node waits. Absent: there are no such events. */
  readonly waits?: readonly string[];
  /** Why repack does not replace the node. Absent: another reason protects it. */
  readonly repack?: string;
  /** Recent commands that moved pods to the node. */
  readonly moves?: readonly MoveAnswer[];
  /** The next command of the disruption loop, if it removes this node. */
  readonly removal?: CommandAnswer;
  /** The command that would remove this node alone, if nothing protected it and no other command were first. */
  readonly alone?: CommandAnswer;
  /** The next commands of the disruption loop in the whole cluster. */
  readonly next: readonly CommandAnswer[];
}

/** Why the node was launched. */
export interface LaunchOrigin {
  readonly createdAt: string;
  readonly reason: "pods" | "replacement" | "capacity";
  readonly says: string;
  /** The id of the disruption command that launched the node as a replacement. */
  readonly command?: string;
  /** Pods on the node that were pending when it was created. */
  readonly pods: readonly string[];
}

/** A condition of the claim because of which a disruption method acts, such as Drifted. */
export interface Mark {
  readonly type: string;
  readonly since: string;
  readonly reason: string;
}

/**
 * The answer about the node. `picture`: the state of the cluster at one moment. `next`: the next commands of the
 * disruption loop for it. Undefined: there are none.
 */
export function nodeAnswer(
  picture: Picture,
  node: NodeView,
  next: FoundCommands | undefined,
  repairs: Repairs,
  brake: BrakeAnswer | undefined,
): NodeAnswer {
  const at = toRfc3339(picture.nowMs);
  const commands = commandAnswers(next);
  const owned = ownedNode(picture, node);
  if (owned === undefined) {
    const says = `${node.name} has no NodeClaim, so Karpenter never removes it`;
    return { kind: "Node", name: node.name, at, says, managed: false, next: commands };
  }
  const { claim, pool, candidate } = owned;
  const removal = commands.find(({ nodes }) => nodes.some((one) => one.node === node.name));
  // The next command removes the node together with others. So what only prevents its removal alone is left out.
  const holds = holdsOf(picture, owned).filter(
    ({ against }) => removal === undefined || !against.every((one) => one === removal.reason),
  );
  const isSettled = removal !== undefined || claim.metadata.deletionTimestamp !== undefined;
  const alone = isSettled || candidate === undefined ? undefined : aloneCommand(picture, candidate);
  const repair = repairAnswer(picture, owned, repairs);
  const packing = removal === undefined ? repackAnswer(picture, node, next) : undefined;
  const types = picture.pools.find((one) => one.pool.id === pool?.id)?.instanceTypes ?? [];
  const end = expiry(claim, pool, picture.expiry);
  const type = candidate === undefined ? undefined : launchChoice(candidate, types);
  const room = picture.room?.get(node.name);
  const issues = node.node === undefined ? [] : shapeIssues(claim, node.node);
  return {
    kind: "Node",
    name: node.name,
    at,
    says: sentence(owned, { type, holds, removal, repair, room }),
    managed: true,
    nodeClaim: claim.metadata.name,
    ...(pool === undefined ? {} : { nodePool: pool.name }),
    origin: originOf(node, claim, owned),
    ...(type === undefined ? {} : { type }),
    ...(issues.length === 0 ? {} : { inconsistencies: issues }),
    pods: node.pods.filter(isReschedulable).map(keyOf),
    ...(room === undefined ? {} : { headroom: room }),
    marks: marksOf(claim),
    ...(end === undefined ? {} : { expires: { at: toRfc3339(end.atMs), mode: end.mode } }),
    holds,
    ...(repair === undefined ? {} : { repair }),
    ...(brake === undefined ? {} : { brake }),
    ...(packing === undefined ? {} : { repack: packing }),
    moves: moveAnswers(picture, [node]),
    ...(removal === undefined ? {} : { removal }),
    ...(alone === undefined ? {} : { alone: commandAnswer(alone, alone.via) }),
    next: commands,
  };
}

/** The next commands of the disruption loop as answers. Empty: there are none. */
export function commandAnswers(next: FoundCommands | undefined): readonly CommandAnswer[] {
  if (next === undefined) return [];
  return next.commands
    .toSorted((a, b) => savingsMicroUsd(b) - savingsMicroUsd(a))
    .map((command) => commandAnswer(command, next.method.name));
}

function originOf(node: NodeView, claim: NodeClaim, { pool }: Owned): LaunchOrigin {
  const { creationTimestamp: createdAt = "" } = claim.metadata;
  const pods = node.pods
    .filter(isReschedulable)
    .filter((pod) => isOlder(pod, claim))
    .map(keyOf);
  const command = replacementCommandId(claim);
  if (command !== undefined) {
    const says = `created to replace other nodes, by the disruption command ${command}`;
    return { createdAt, reason: "replacement", says, command, pods };
  }
  if (pool?.replicas !== undefined) {
    const says = `created to keep ${counted(pool.replicas, "node")} of its static NodePool`;
    return { createdAt, reason: "capacity", says, pods };
  }
  const which = pods.length === 0 ? "none of them is left" : `still running: ${pods.length}`;
  return { createdAt, reason: "pods", says: `created for pending pods; ${which}`, pods };
}

function isOlder(pod: Pod, claim: NodeClaim): boolean {
  const born = fromRfc3339(pod.metadata.creationTimestamp);
  const made = fromRfc3339(claim.metadata.creationTimestamp);
  return born !== undefined && made !== undefined && born <= made;
}

const MARKS = ["Consolidatable", "Empty", "Drifted", "Expired", "DisruptionReason"];

function marksOf(claim: NodeClaim): readonly Mark[] {
  return MARKS.flatMap((type) => {
    const found = condition(claim, type);
    if (found?.status !== "True") return [];
    return [{ type, since: found.lastTransitionTime ?? "", reason: found.reason ?? type }];
  });
}

/** The facts from which the headline about the node is made. */
interface Found {
  readonly type: LaunchChoice | undefined;
  readonly holds: readonly Hold[];
  readonly removal: CommandAnswer | undefined;
  readonly repair: RepairAnswer | undefined;
  readonly room: readonly RoomKept[] | undefined;
}

/** Maximum number of holds in the headline, besides the first one. */
const MOST_ALSO = 2;

function roomText(room: readonly RoomKept[]): string {
  if (room.length === 0) return "";
  const parts = room.map(
    ({ buffer, pods }) => `${counted(pods, "pod")} of CapacityBuffer ${buffer}`,
  );
  return ` and keeps room for ${parts.join(", ")}`;
}

function sentence(
  { node, pool }: Owned,
  { type, holds, removal, repair, room = [] }: Found,
): string {
  const pods = node.pods.filter(isReschedulable).length;
  const what =
    type === undefined
      ? node.name
      : `${node.name} (${type.instanceType}, ${type.capacityType}, ${type.zone}, ${usd(type.priceMicroUsdPerHour)} an hour)`;
  const whose = pool === undefined ? "" : ` of ${pool.name}`;
  const head = `${what}${whose} runs ${counted(pods, "pod")}${roomText(room)}`;
  if (removal !== undefined) return `${head}; next: ${removal.says}`;
  // A node that is starting is not ready, but that is not unhealthy.
  if (repair !== undefined && node.initialized) return `${head}; it is unhealthy: ${repair.says}`;
  const [first, ...others] = holds;
  if (first === undefined)
    return `${head}; nothing protects it, but other nodes are disrupted first`;
  const said = [first, ...others.slice(0, MOST_ALSO)].map((hold) => holdText(hold));
  const more = others.length - MOST_ALSO;
  const rest = more > 0 ? [`and ${counted(more, "more reason")}`] : [];
  return `${head}; ${first.block === "leaving" ? "" : "it stays: "}${[...said, ...rest].join("; ")}`;
}

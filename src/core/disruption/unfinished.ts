/**
 * Finds commands that no process carries out any more, by their marks on nodes and claims. A command is resumed if all
 * its replacements were created and all its nodes are tainted or being deleted. Any other is rolled back and proposed
 * again on fresh facts. A node may be untainted because another process took its mark for a leftover, or stopped during
 * a rollback. Then pods that the plan does not know may run there.
 */
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import { isRebooting, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { isCordoned } from "../state/cordon.ts";
import type { NodeView } from "../state/node-view.ts";
import { withoutMove } from "./moves.ts";
import {
  type CommandRecord,
  recordOf,
  replacementCommandId,
  withoutReplacementMark,
} from "./record.ts";

/** Longer than any command waits for its replacements. */
const TOO_OLD_MS = 60 * 60_000;

export interface Unfinished {
  readonly resume: readonly {
    readonly record: CommandRecord;
    readonly nodes: readonly NodeView[];
    readonly replacements: readonly NodeClaim[];
  }[];
  readonly rolledBack: readonly RolledBack[];
}

/** A command that is rolled back, or one node with marks that name no command. */
export interface RolledBack {
  /** Untainted after all of `discard` are deleted: a command is found by the marks on its nodes. */
  readonly nodes: readonly NodeView[];
  /** Replacements without a Node. */
  readonly discard: readonly NodeClaim[];
  /** Absent: a node of the command is being deleted, or it has no replacement. */
  readonly undone?: Undone;
}

/** A command all of whose nodes stay, so it has moved no pods. */
export interface Undone {
  readonly command: string;
  /** Replacements with a Node: they stay, without their marks. */
  readonly kept: readonly NodeClaim[];
}

/** `queued`: names of the nodes whose commands this process carries out. All lists are sorted by node name. */
export function* findUnfinished(
  nodes: readonly NodeView[],
  queued: ReadonlySet<string>,
  nowMs: number,
): Steps<Unfinished> {
  const marked: NodeView[] = [];
  yield* eachInSteps(nodes, (one) => {
    if (!queued.has(one.name) && isMarked(one)) marked.push(one);
  });
  const commands = new Map<string, { record: CommandRecord; nodes: NodeView[] }>();
  const takenBack: RolledBack[] = [];
  yield* eachInSteps(marked, (one) => {
    const record = recordOf(one.claim as NodeClaim);
    if (record === undefined) {
      takenBack.push({ nodes: [one], discard: [] });
      return;
    }
    within(commands, record.id, () => ({ record, nodes: [] })).nodes.push(one);
  });
  if (commands.size === 0) return { resume: [], rolledBack: takenBack };

  const named = new Set([...commands.values()].flatMap(({ record }) => record.nodes));
  const staying = new Map<string, NodeClaim>();
  const made = new Map<string, NodeClaim[]>();
  yield* eachInSteps(nodes, ({ name, claim, deleting }) => {
    if (claim === undefined || deleting) return;
    if (named.has(name)) staying.set(name, claim);
    const id = replacementCommandId(claim);
    if (id !== undefined && commands.has(id)) within(made, id, () => []).push(claim);
  });
  const resume: Unfinished["resume"][number][] = [];
  for (const [id, { record, nodes: own }] of commands) {
    const replacements = made.get(id) ?? [];
    const ageMs = nowMs - (fromRfc3339(record.startedAt) ?? 0);
    const whole = record.replacements > 0 && replacements.length === record.replacements;
    const isTakenBack = record.nodes.some((name) => isUnmarked(staying.get(name), id));
    if (whole && !isTakenBack && own.every(isTainted) && ageMs < TOO_OLD_MS) {
      resume.push({ record, nodes: own, replacements });
      continue;
    }
    const isWhole = record.nodes.every((name) => staying.has(name));
    takenBack.push(rollBackOf(id, { nodes: own, replacements, allStay: isWhole }));
  }
  return { resume, rolledBack: takenBack };
}

/** What a command that is rolled back left behind. */
interface Leftovers {
  readonly nodes: readonly NodeView[];
  readonly replacements: readonly NodeClaim[];
  /** None of the nodes that the command names is deleted or being deleted. */
  readonly allStay: boolean;
}

/** What to do with the leftovers of a command (by id). */
export function rollBackOf(
  command: string,
  { nodes, replacements, allStay }: Leftovers,
): RolledBack {
  const discard = unregistered(replacements);
  if (!allStay || replacements.length === 0) return { nodes, discard };
  const kept = replacements.filter((claim) => !discard.includes(claim));
  return { nodes, discard, undone: { command, kept } };
}

/** The claim of a replacement that stays although its command is rolled back. */
export function withoutCommand(claim: NodeClaim, command: string): NodeClaim {
  return replacementCommandId(claim) === command
    ? withoutReplacementMark(withoutMove(claim, command))
    : claim;
}

/** Replacements that a rollback deletes. Those with a Node stay, because pods may run there. */
export function unregistered(replacements: readonly NodeClaim[]): readonly NodeClaim[] {
  return replacements.filter((claim) => !isTrue(claim, "Registered"));
}

/** Whether the claim exists and does not record this command. */
function isUnmarked(claim: NodeClaim | undefined, commandId: string): boolean {
  return claim !== undefined && recordOf(claim)?.id !== commandId;
}

function isTainted({ claim, node }: NodeView): boolean {
  if (claim === undefined || node === undefined) return false;
  return isCordoned(node, vocabulary(claimGeneration(claim)));
}

/** v1alpha5 taints nodes by cordoning them. That alone is no mark: a person may have done it. */
function isMarked({ claim, node, deleting }: NodeView): boolean {
  if (claim === undefined || node === undefined || deleting || isRebooting(claim)) return false;
  const generation = claimGeneration(claim);
  if (condition(claim, "DisruptionReason") !== undefined || recordOf(claim) !== undefined)
    return true;
  return generation !== "alpha" && isCordoned(node, vocabulary(generation));
}

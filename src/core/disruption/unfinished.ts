/**
 * Finds commands that no process works on any more, for example after a restart, by their marks on nodes and claims
 * (record.ts). A command is resumed if all its replacements were created and all its remaining nodes are tainted. Every
 * other command, and one that is too old, is rolled back: its nodes are untainted and kept.
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

/** A command that is older than this is rolled back. No command waits this long for its replacements. */
const TOO_OLD_MS = 60 * 60_000;

export interface Unfinished {
  readonly resume: readonly {
    readonly record: CommandRecord;
    readonly nodes: readonly NodeView[];
    readonly replacements: readonly NodeClaim[];
  }[];
  readonly rolledBack: readonly RolledBack[];
}

/** A command that is rolled back, or one node whose marks name no command. */
export interface RolledBack {
  /** The nodes to untaint. Their claims lose their marks last, so that an interrupted rollback is found again. */
  readonly nodes: readonly NodeView[];
  /** Replacements to delete: those that have no Node yet. */
  readonly discard: readonly NodeClaim[];
  /** The command, if all its nodes are kept. Absent: a node is gone or going, or there is no replacement. */
  readonly undone?: Undone;
}

/** A rolled-back command of which all nodes are kept, so it has moved no pods. */
export interface Undone {
  readonly command: string;
  /** Replacements that have a Node. They are kept, without their marks. */
  readonly kept: readonly NodeClaim[];
}

/**
 * Finds the commands that must be resumed or rolled back. `queued`: names of nodes of commands that this process runs.
 */
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

interface Leftovers {
  readonly nodes: readonly NodeView[];
  readonly replacements: readonly NodeClaim[];
  /** Whether none of the nodes that the command names is deleted or being deleted. */
  readonly allStay: boolean;
}

/** How to roll back the command with this id. */
export function rollBackOf(
  command: string,
  { nodes, replacements, allStay }: Leftovers,
): RolledBack {
  const discard = unregistered(replacements);
  if (!allStay || replacements.length === 0) return { nodes, discard };
  const kept = replacements.filter((claim) => !discard.includes(claim));
  return { nodes, discard, undone: { command, kept } };
}

/** The claim without marks of this command. It is a replacement that is kept although its command was rolled back. */
export function withoutCommand(claim: NodeClaim, command: string): NodeClaim {
  return replacementCommandId(claim) === command
    ? withoutReplacementMark(withoutMove(claim, command))
    : claim;
}

/** The replacements that a rollback deletes. Those with a Node are kept, because pods may run there. */
export function unregistered(replacements: readonly NodeClaim[]): readonly NodeClaim[] {
  return replacements.filter((claim) => !isTrue(claim, "Registered"));
}

/** Whether the claim exists but has no record of this command. */
function isUnmarked(claim: NodeClaim | undefined, commandId: string): boolean {
  return claim !== undefined && recordOf(claim)?.id !== commandId;
}

function isTainted({ claim, node }: NodeView): boolean {
  if (claim === undefined || node === undefined) return false;
  return isCordoned(node, vocabulary(claimGeneration(claim)));
}

/** Whether the node has marks of a command. A person may have cordoned a v1alpha5 node, so that alone is no mark. */
function isMarked({ claim, node, deleting }: NodeView): boolean {
  if (claim === undefined || node === undefined || deleting || isRebooting(claim)) return false;
  const generation = claimGeneration(claim);
  if (condition(claim, "DisruptionReason") !== undefined || recordOf(claim) !== undefined)
    return true;
  return generation !== "alpha" && isCordoned(node, vocabulary(generation));
}

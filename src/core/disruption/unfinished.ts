/**
 * Commands that no process is carrying out any more, found by the marks they left. One whose replacements
 * were all asked for, and whose nodes are closed or on their way, goes on; any other is taken back: it will be proposed
 * again, on fresh facts, if it still holds. A node stands open where a process that had not heard of the command yet took
 * its mark for a leftover, or died while it took the command back: pods may have come to it since that nobody asked.
 */
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
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

/** Looked at before others get a turn. */
const NODES_PER_STEP = 1_024;
/** Those whose record is read: it may be long. */
const RECORDS_PER_STEP = 64;

export interface Unfinished {
  readonly resume: readonly {
    readonly record: CommandRecord;
    readonly nodes: readonly NodeView[];
    readonly replacements: readonly NodeClaim[];
  }[];
  readonly takenBack: readonly RolledBack[];
}

/** What belongs to one command; a node with marks that name none is alone. */
export interface RolledBack {
  /** To be opened again once all of `discard` are deleted: these are found by the marks on them. */
  readonly nodes: readonly NodeView[];
  /** Made for the command, and not in use yet. */
  readonly discard: readonly NodeClaim[];
  /** Absent where a node of its goes, or no claim came: something was moved, or it stands on no new claim. */
  readonly undone?: Undone;
}

/** A command that has moved nothing: all of its nodes stay. */
export interface Undone {
  readonly command: string;
  /** Made for it and in use: they stay as if they had been made for none. */
  readonly kept: readonly NodeClaim[];
}

/** `queued`: names of the nodes whose commands this process carries out. All lists by node name. */
export function* findUnfinished(
  nodes: readonly NodeView[],
  queued: ReadonlySet<string>,
  nowMs: number,
): Steps<Unfinished> {
  const strays: NodeView[] = [];
  yield* eachInSteps(nodes, NODES_PER_STEP, (one) => {
    if (!queued.has(one.name) && isMarked(one)) strays.push(one);
  });
  const commands = new Map<string, { record: CommandRecord; nodes: NodeView[] }>();
  const takenBack: RolledBack[] = [];
  yield* eachInSteps(strays, RECORDS_PER_STEP, (one) => {
    const record = recordOf(one.claim as NodeClaim);
    if (record === undefined) {
      takenBack.push({ nodes: [one], discard: [] });
      return;
    }
    const known = commands.get(record.id);
    if (known === undefined) commands.set(record.id, { record, nodes: [one] });
    else known.nodes.push(one);
  });
  if (commands.size === 0) return { resume: [], takenBack };

  const named = new Set([...commands.values()].flatMap(({ record }) => record.nodes));
  const staying = new Map<string, NodeClaim>();
  const made = new Map<string, NodeClaim[]>();
  yield* eachInSteps(nodes, NODES_PER_STEP, ({ name, claim, deleting }) => {
    if (claim === undefined || deleting) return;
    if (named.has(name)) staying.set(name, claim);
    const id = replacementCommandId(claim);
    if (id !== undefined && commands.has(id)) made.set(id, [...(made.get(id) ?? []), claim]);
  });
  const resume: Unfinished["resume"][number][] = [];
  for (const [id, { record, nodes: marked }] of commands) {
    const replacements = made.get(id) ?? [];
    const ageMs = nowMs - (fromRfc3339(record.startedAt) ?? 0);
    const whole = record.replacements > 0 && replacements.length === record.replacements;
    const isTakenBack = record.nodes.some((name) => isUnmarked(staying.get(name), id));
    if (whole && !isTakenBack && marked.every(isClosed) && ageMs < TOO_OLD_MS) {
      resume.push({ record, nodes: marked, replacements });
      continue;
    }
    const isWhole = record.nodes.every((name) => staying.has(name));
    takenBack.push(rollBackOf(id, marked, replacements, isWhole ? "stay" : "go"));
  }
  return { resume, takenBack };
}

/** `all`: whether all nodes that the command names stay, or some go or have gone. */
export function rollBackOf(
  command: string,
  nodes: readonly NodeView[],
  replacements: readonly NodeClaim[],
  all: "stay" | "go",
): RolledBack {
  const discard = unregistered(replacements);
  if (all === "go" || replacements.length === 0) return { nodes, discard };
  const kept = replacements.filter((claim) => !discard.includes(claim));
  return { nodes, discard, undone: { command, kept } };
}

/** The claim of a replacement that stays though its command does nothing. */
export function withoutCommand(claim: NodeClaim, command: string): NodeClaim {
  return replacementCommandId(claim) === command
    ? withoutReplacementMark(withoutMove(claim, command))
    : claim;
}

/** What a command that is taken back takes along: pods may run on those that have joined. */
export function unregistered(replacements: readonly NodeClaim[]): readonly NodeClaim[] {
  return replacements.filter((claim) => !isTrue(claim, "Registered"));
}

/** Of a node that a command names: it stays, and not by that command any more. */
function isUnmarked(claim: NodeClaim | undefined, commandId: string): boolean {
  return claim !== undefined && recordOf(claim)?.id !== commandId;
}

function isClosed({ claim, node }: NodeView): boolean {
  if (claim === undefined || node === undefined) return false;
  return isCordoned(node, vocabulary(claimGeneration(claim)));
}

/** Alpha's cordon alone is no mark: a person may have set it. */
function isMarked({ claim, node, deleting }: NodeView): boolean {
  if (claim === undefined || node === undefined || deleting) return false;
  const generation = claimGeneration(claim);
  if (condition(claim, "DisruptionReason") !== undefined || recordOf(claim) !== undefined)
    return true;
  return generation !== "alpha" && isCordoned(node, vocabulary(generation));
}

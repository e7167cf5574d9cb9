/**
 * What disruption commands have moved, written on the claims of nodes that took the pods: so that a process
 * that takes over holds itself back as the one before would have, and people can see what a node was made
 * for and what that saved. Entries are carried on when the node that bears them goes itself.
 */

import { deploymentNameOf, type Pod } from "../../apis/core/pod.ts";
import { MOVES_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { type Command, type CommandReason, savingsMicroUsd } from "./command.ts";
import type { CommandRecord } from "./record.ts";

/** How long a move counts. */
export const MOVE_COUNTS_MS = 60 * 60_000;
/** Workloads named of one move: those with most pods. */
const MOST_WORKLOADS = 1_000;
/** Characters of one annotation: an object may bear 256 KiB of them in all. */
const MOST_TEXT = 100_000;

/** What one command moved, and what for. Plain JSON. */
export interface MoveRecord {
  /** The command's id. */
  readonly command: string;
  readonly reason: CommandReason;
  /** RFC 3339. */
  readonly at: string;
  /** The nodes that went. */
  readonly nodes: readonly string[];
  /** What they cost an hour, and how much of that was to be saved. */
  readonly priceMicroUsd: number;
  readonly savesMicroUsd: number;
  /** How many nodes were to come in their place. */
  readonly replacements: number;
  /** Workload ({@link moveKeysOf}) → how many of its pods. */
  readonly pods: Readonly<Record<string, number>>;
  /** Ids of the pools that are judged by what it comes to (outcome.ts); absent: none is. */
  readonly pools?: readonly string[];
}

export function moveOf(
  command: Command,
  { id, reason, startedAt }: Pick<CommandRecord, "id" | "reason" | "startedAt">,
): MoveRecord {
  const counts = [...podsByWorkload(command.candidates.flatMap((one) => one.reschedulablePods))]
    .map(([key, pods]) => [key, pods.length] as const)
    .sort(([a, many], [b, few]) => few - many || (a < b ? -1 : 1));
  return {
    command: id,
    reason,
    at: startedAt,
    nodes: command.candidates.map(({ node }) => node.name),
    priceMicroUsd: command.candidates.reduce((sum, one) => sum + one.priceMicroUsd, 0),
    savesMicroUsd: savingsMicroUsd(command),
    replacements: command.replacements.length,
    pods: Object.fromEntries(counts.slice(0, MOST_WORKLOADS)),
    ...(isJudged(command) ? { pools: poolsOf(command) } : {}),
  };
}

/** Several nodes for others, or one packed anew: what one node gives way to, upstream judges by itself. */
function isJudged({ consolidationType, replacements, terms: supposing }: Command): boolean {
  if (replacements.length === 0) return false;
  return consolidationType === "multi" || supposing?.packed !== undefined;
}

function poolsOf({ candidates }: Command): readonly string[] {
  return [...new Set(candidates.map(({ pool }) => pool.id))].sort();
}

/** The annotation for a new claim: those of the moves that still count, the last ones if that is too much. */
export function movesAnnotation(
  moves: readonly MoveRecord[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const known = new Map<string, MoveRecord>();
  for (const one of moves) if (isRecent(one, nowMs)) known.set(one.command, one);
  const texts = [...known.values()].sort(oldestFirst).map((one) => JSON.stringify(one));
  let length = texts.reduce((sum, text) => sum + text.length + 1, 1);
  while (length > MOST_TEXT) length -= (texts.shift() as string).length + 1;
  return { [MOVES_ANNOTATION_KEY]: `[${texts.join()}]` };
}

/** By time; ties by the command's id. */
export function oldestFirst(a: MoveRecord, b: MoveRecord): number {
  if (a.at === b.at) return a.command < b.command ? -1 : 1;
  return a.at < b.at ? -1 : 1;
}

/** The claim with these beside what it bears already. */
export function withMoves(
  claim: NodeClaim,
  moves: readonly MoveRecord[],
  nowMs: number,
): NodeClaim {
  const annotation = movesAnnotation([...movesOn(claim), ...moves], nowMs);
  const annotations = { ...claim.metadata.annotations, ...annotation };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

/** The claim without what this command moved. */
export function withoutMove(claim: NodeClaim, command: string): NodeClaim {
  const moves = movesOn(claim);
  const others = moves.filter((one) => one.command !== command);
  if (others.length === moves.length) return claim;
  const { [MOVES_ANNOTATION_KEY]: _, ...left } = claim.metadata.annotations ?? {};
  const annotation = others.length === 0 ? {} : { [MOVES_ANNOTATION_KEY]: JSON.stringify(others) };
  return { ...claim, metadata: { ...claim.metadata, annotations: { ...left, ...annotation } } };
}

/** None also where another hand spoiled the annotation. */
export function movesOn({ metadata }: NodeClaim): readonly MoveRecord[] {
  const text = metadata.annotations?.[MOVES_ANNOTATION_KEY];
  if (text === undefined) return [];
  try {
    const value: unknown = parseBoundedJson(text);
    return Array.isArray(value) ? value.filter(isMove) : [];
  } catch {
    return [];
  }
}

/** Whether it is young enough to hold others back. */
export function isRecent({ at }: MoveRecord, nowMs: number): boolean {
  return nowMs - (fromRfc3339(at) ?? 0) < MOVE_COUNTS_MS;
}

export function ownerOf({ metadata }: Pod) {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** What people call a pod's workload by: its Deployment, else its owner. */
export function workloadOf(pod: Pod): string | undefined {
  const owner = ownerOf(pod);
  if (owner === undefined) return undefined;
  const deployment = deploymentNameOf(pod);
  const { namespace } = pod.metadata;
  if (deployment === undefined) return `${owner.kind} ${namespace}/${owner.name}`;
  return `Deployment ${namespace}/${deployment}`;
}

/**
 * By what moves count a pod's workload: as it is written now, then as it was by earlier versions. Each rollout of a
 * Deployment, and so each move without downtime, makes a ReplicaSet of another UID: its own name stays.
 */
export function moveKeysOf(pod: Pod): readonly string[] {
  const owner = ownerOf(pod);
  if (owner === undefined) return [];
  const deployment = deploymentNameOf(pod);
  if (deployment === undefined) return [owner.uid];
  return [`Deployment ${pod.metadata.namespace}/${deployment}`, owner.uid];
}

/** How many pods of this one's workload a command moved. */
export function movedWith({ pods }: MoveRecord, pod: Pod): number {
  return moveKeysOf(pod).reduce((sum, key) => sum + (pods[key] ?? 0), 0);
}

/** By the owner's UID. Pods without an owner do not come back: they are not counted. */
export function podsByOwner(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  return grouped(pods, (pod) => ownerOf(pod)?.uid);
}

/** As moves count them. */
export function podsByWorkload(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  return grouped(pods, (pod) => moveKeysOf(pod)[0]);
}

function grouped(
  pods: readonly Pod[],
  keyOf: (pod: Pod) => string | undefined,
): ReadonlyMap<string, readonly Pod[]> {
  const groups = new Map<string, Pod[]>();
  for (const pod of pods) {
    const key = keyOf(pod);
    if (key === undefined) continue;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [pod]);
    else known.push(pod);
  }
  return groups;
}

function isMove(value: unknown): value is MoveRecord {
  if (typeof value !== "object" || value === null) return false;
  const one = value as Partial<Record<keyof MoveRecord, unknown>>;
  return (
    typeof one.command === "string" &&
    typeof one.reason === "string" &&
    typeof one.at === "string" &&
    fromRfc3339(one.at) !== undefined &&
    Array.isArray(one.nodes) &&
    one.nodes.every((name) => typeof name === "string") &&
    Number.isFinite(one.priceMicroUsd) &&
    Number.isFinite(one.savesMicroUsd) &&
    Number.isSafeInteger(one.replacements) &&
    typeof one.pods === "object" &&
    one.pods !== null &&
    Object.values(one.pods).every(Number.isSafeInteger) &&
    (one.pools === undefined ||
      (Array.isArray(one.pools) && one.pools.every((id) => typeof id === "string")))
  );
}

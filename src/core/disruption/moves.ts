/**
 * Records what disruption commands moved, in annotations on the claims of nodes that took the pods. So a process that
 * starts later holds off the same commands, and users see why a node was launched. The records of a claim that is
 * deleted are copied to another claim.
 */
import { deploymentNameOf, type Pod } from "../../apis/core/pod.ts";
import { annotated } from "../../apis/hub/annotations.ts";
import { MOVES_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { controllerOf } from "../../apis/meta.ts";
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { within } from "../../base/within.ts";
import { priceOfAll } from "./candidates.ts";
import { type Command, type CommandReason, savingsMicroUsd } from "./command.ts";
import type { CommandRecord } from "./record.ts";

/** How long a move counts for hold-offs and limits. */
export const MOVE_COUNTS_MS = 60 * 60_000;
/** The most workloads in one record. Those with the most pods are kept. */
const MOST_WORKLOADS = 1_000;
/** The most characters of the annotation. Kubernetes allows 256 KiB for all annotations of an object. */
const MOST_TEXT = 100_000;

/** A record of the pods that one command moved. Stored as JSON. */
export interface MoveRecord {
  readonly command: string;
  readonly reason: CommandReason;
  /** When the command began, as RFC 3339. */
  readonly at: string;
  /** Names of the removed nodes. */
  readonly nodes: readonly string[];
  /** Price per hour of these nodes, and how much of it the command should save. */
  readonly priceMicroUsd: number;
  readonly savesMicroUsd: number;
  readonly replacements: number;
  /** Number of moved pods by workload ({@link moveKeysOf}). */
  readonly pods: Readonly<Record<string, number>>;
  /** Ids of the pools for which the outcome is compared with the plan (outcome.ts). Absent: none. */
  readonly pools?: readonly string[];
}

/** The record of a command that begins. */
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
    priceMicroUsd: priceOfAll(command.candidates),
    savesMicroUsd: savingsMicroUsd(command),
    replacements: command.replacements.length,
    pods: Object.fromEntries(counts.slice(0, MOST_WORKLOADS)),
    ...(isJudged(command) ? { pools: poolsOf(command) } : {}),
  };
}

/** Whether the saving is measured later (outcome.ts): for repack and for replacements of several nodes. */
function isJudged({ consolidationType, replacements, terms }: Command): boolean {
  if (replacements.length === 0) return false;
  return consolidationType === "multi" || terms?.packed !== undefined;
}

function poolsOf({ candidates }: Command): readonly string[] {
  return [...new Set(candidates.map(({ pool }) => pool.id))].sort();
}

/** The annotation with the moves of the last hour. If the text gets too long, the oldest are left out. */
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

/** Sorts moves by time, then by command id. */
export function oldestFirst(a: MoveRecord, b: MoveRecord): number {
  if (a.at === b.at) return a.command < b.command ? -1 : 1;
  return a.at < b.at ? -1 : 1;
}

/** The claim with these records added to its own. */
export function withMoves(
  claim: NodeClaim,
  moves: readonly MoveRecord[],
  nowMs: number,
): NodeClaim {
  return annotated(claim, movesAnnotation([...movesOn(claim), ...moves], nowMs));
}

/** The claim without the record of this command. */
export function withoutMove(claim: NodeClaim, command: string): NodeClaim {
  const moves = movesOn(claim);
  const others = moves.filter((one) => one.command !== command);
  if (others.length === moves.length) return claim;
  const { [MOVES_ANNOTATION_KEY]: _, ...left } = claim.metadata.annotations ?? {};
  const annotation = others.length === 0 ? {} : { [MOVES_ANNOTATION_KEY]: JSON.stringify(others) };
  return { ...claim, metadata: { ...claim.metadata, annotations: { ...left, ...annotation } } };
}

/** The records on the claim. Empty if the annotation is invalid. */
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

/** Whether the move is less than an hour old, so that it still counts. */
export function isRecent({ at }: MoveRecord, nowMs: number): boolean {
  return nowMs - (fromRfc3339(at) ?? 0) < MOVE_COUNTS_MS;
}

/** The name of the pod's workload for messages: its Deployment, or else its owner. */
export function workloadName(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  if (owner === undefined) return undefined;
  const deployment = deploymentNameOf(pod);
  const { namespace } = pod.metadata;
  if (deployment === undefined) return `${owner.kind} ${namespace}/${owner.name}`;
  return `Deployment ${namespace}/${deployment}`;
}

/**
 * The keys under which records count the pods of this pod's workload: the current key, then that of earlier versions. A
 * Deployment is counted by name, because each rollout creates a ReplicaSet with a new UID.
 */
export function moveKeysOf(pod: Pod): readonly string[] {
  const owner = controllerOf(pod);
  if (owner === undefined) return [];
  const deployment = deploymentNameOf(pod);
  if (deployment === undefined) return [owner.uid];
  return [`Deployment ${pod.metadata.namespace}/${deployment}`, owner.uid];
}

/** How many pods of this pod's workload the command moved. */
export function movedWith({ pods }: MoveRecord, pod: Pod): number {
  return moveKeysOf(pod).reduce((sum, key) => sum + (pods[key] ?? 0), 0);
}

/** The pods by UID of their owner. Pods without an owner are left out, because nothing creates them again. */
export function podsByOwner(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  return grouped(pods, (pod) => controllerOf(pod)?.uid);
}

/** The pods by the first key of {@link moveKeysOf}. */
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
    within(groups, key, () => []).push(pod);
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

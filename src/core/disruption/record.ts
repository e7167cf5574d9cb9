/**
 * The marks that a running command writes on its claims, so that another process finds it after a restart. Each claim
 * that will be deleted gets a record, each replacement the command's id. karpenter-ts only: upstream cancels commands
 * after a restart.
 */
import { annotated, parseObject } from "../../apis/hub/annotations.ts";
import {
  DISRUPTION_COMMAND_ANNOTATION_KEY,
  REPLACEMENT_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import type { Command, CommandReason } from "./command.ts";

/** The record of a command. Stored as JSON. */
export interface CommandRecord {
  readonly id: string;
  readonly reason: CommandReason;
  readonly consolidationType: Command["consolidationType"];
  /** When the command began, as RFC 3339. */
  readonly startedAt: string;
  /** Names of the removed nodes. Empty without replacements: hundreds of empty nodes are too many for an annotation. */
  readonly nodes: readonly string[];
  readonly replacements: number;
  /** The longest time that the drain may take. Absent: only the terminationGracePeriod of the claim counts. */
  readonly graceMs?: number;
  /** Whether the nodes have not drifted, but move to a NodePool or capacity type that is preferred. Absent: no. */
  readonly isReturn?: boolean;
}

/** The record of a command that begins now. */
export function newRecord(command: Command, id: string, nowMs: number): CommandRecord {
  return {
    id,
    reason: command.reason,
    consolidationType: command.consolidationType,
    startedAt: toRfc3339(nowMs),
    // After a restart, a command without replacements is rolled back. That needs no list of nodes, which may be long.
    nodes: command.replacements.length === 0 ? [] : command.candidates.map(({ node }) => node.name),
    replacements: command.replacements.length,
    ...(command.repair?.graceMs === undefined ? {} : { graceMs: command.repair.graceMs }),
    ...(command.via === "return" ? { isReturn: true } : {}),
  };
}

/** The claim with the record of the command that will delete it. */
export function withRecord(claim: NodeClaim, record: CommandRecord): NodeClaim {
  return annotated(claim, { [DISRUPTION_COMMAND_ANNOTATION_KEY]: JSON.stringify(record) });
}

/** The claim without the record of a command. */
export function withoutRecord(claim: NodeClaim): NodeClaim {
  return without(claim, DISRUPTION_COMMAND_ANNOTATION_KEY);
}

/** The record of the command that will delete the claim. Undefined: there is none, or the annotation is invalid. */
export function recordOf(claim: NodeClaim): CommandRecord | undefined {
  const value = parseObject(claim, DISRUPTION_COMMAND_ANNOTATION_KEY);
  return isRecord(value) ? value : undefined;
}

/** The id of the command that launched the claim as a replacement. Undefined: it is no replacement. */
export function replacementCommandId(claim: NodeClaim): string | undefined {
  return claim.metadata.annotations?.[REPLACEMENT_ANNOTATION_KEY];
}

/** The claim without the annotation that marks it as a replacement. */
export function withoutReplacementMark(claim: NodeClaim): NodeClaim {
  return without(claim, REPLACEMENT_ANNOTATION_KEY);
}

function without(claim: NodeClaim, key: string): NodeClaim {
  const { [key]: gone, ...annotations } = claim.metadata.annotations ?? {};
  if (gone === undefined) return claim;
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

const REASONS: readonly unknown[] = ["Underutilized", "Empty", "Drifted", "Expired", "Unhealthy"];
const TYPES: readonly unknown[] = ["", "empty", "multi", "single"];

function isRecord(value: unknown): value is CommandRecord {
  const one = value as Partial<Record<keyof CommandRecord, unknown>>;
  return (
    typeof one.id === "string" &&
    REASONS.includes(one.reason) &&
    TYPES.includes(one.consolidationType) &&
    typeof one.startedAt === "string" &&
    fromRfc3339(one.startedAt) !== undefined &&
    Array.isArray(one.nodes) &&
    one.nodes.every((name) => typeof name === "string") &&
    Number.isSafeInteger(one.replacements) &&
    (one.graceMs === undefined || Number.isFinite(one.graceMs)) &&
    (one.isReturn === undefined || typeof one.isReturn === "boolean")
  );
}

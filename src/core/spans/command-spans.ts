/**
 * Trace spans of a disruption command: the wait for its validation, the launch of replacements, and the drain and
 * termination of each node. There is one trace for each command. It is made from records that the command writes on its
 * claims.
 */
import { poolNameOfLabels } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { CommandRecord } from "../disruption/record.ts";
import { attributesOf, SpanTree, type TraceSpan, traceIdOf } from "./span.ts";
import { type SeenMs, sharper, trueSinceMs } from "./times.ts";

/** Facts that only the process that began the command knows. */
export interface BegunCommand {
  readonly startedMs: number;
  /** Milliseconds from the proposal to the end of the validation. */
  readonly waitedMs: number;
  readonly decision: string;
  readonly method: string;
  readonly pods: number;
  readonly savesMicroUsdPerHour: number;
}

/** A claim that the command deletes. */
export interface EndedClaim {
  /** The claim's last state. */
  readonly claim: NodeClaim;
  /** When this process saw the deletion of the claim (`deleting`, `gone`) and its conditions. */
  readonly seenMs: SeenMs;
  /** Whether the command was rolled back for this claim, so that the claim is kept. */
  readonly isSpared?: true;
}

/** A claim that the command launches. */
export interface ReplacementClaim {
  readonly claim: NodeClaim;
  readonly seenMs: SeenMs;
  readonly isGone?: true;
}

/** The facts from which the trace of one command is made. */
export interface CommandWay {
  readonly record: CommandRecord;
  /** The facts that this process knows about the start of the command. Absent: another process began the command. */
  readonly begun?: BegunCommand;
  /** The claims that the command deletes, sorted by name. */
  readonly ended: readonly EndedClaim[];
  readonly replacements: readonly ReplacementClaim[];
  readonly nowMs: number;
}

/** The most node spans in one trace. The root span has the number of all nodes. */
const MOST_NODE_SPANS = 50;

/** Whether the trace is complete: each claim of the command is gone or was kept. */
export function isCommandOver({ ended }: CommandWay): boolean {
  return (
    ended.length > 0 &&
    ended.every(({ seenMs, isSpared }) => isSpared || seenMs["gone"] !== undefined)
  );
}

/** The spans of the command's trace, the root first. */
export function commandSpans(facts: CommandWay): readonly TraceSpan[] {
  const { record, begun, ended, replacements } = facts;
  const tree = new SpanTree(record.id);
  const startedMs = begun?.startedMs ?? fromRfc3339(record.startedAt) ?? facts.nowMs;
  if (begun !== undefined && begun.waitedMs > 0)
    tree.add("validate", {
      name: "validate",
      startMs: startedMs - begun.waitedMs,
      endMs: startedMs,
    });
  const readyMs = addReplacements(tree, facts, startedMs);
  for (const one of ended.slice(0, MOST_NODE_SPANS)) addEnd(tree, one, { ...facts, readyMs });
  const spared = ended.filter(({ isSpared }) => isSpared).length;
  const all = Math.max(ended.length, record.nodes.length);
  return tree.under({
    name: "disrupt nodes",
    attributes: attributesOf({
      "karpenter.command.id": record.id,
      "karpenter.command.reason": record.reason,
      "karpenter.command.consolidation_type": record.consolidationType || undefined,
      "karpenter.command.decision": begun?.decision,
      "karpenter.command.method": begun?.method,
      "karpenter.command.nodes": all,
      "karpenter.command.replacements": record.replacements,
      "karpenter.command.pods": begun?.pods,
      "karpenter.command.saves_usd_per_hour":
        begun === undefined ? undefined : begun.savesMicroUsdPerHour / 1_000_000,
    }),
    ...(spared === 0 ? {} : { problem: `taken back from ${spared} of ${all} nodes` }),
    links: replacements.map(({ claim }) => traceIdOf(uidOf(claim))),
  });
}

/** Adds the spans of replacements. Returns when the last replacement was ready. */
function addReplacements(
  tree: SpanTree,
  { record, replacements, nowMs }: CommandWay,
  startedMs: number,
): number {
  if (record.replacements === 0) return startedMs;
  const readyMs = replacements.map(({ claim, seenMs }) =>
    trueSinceMs(claim, "Initialized", seenMs),
  );
  const isShort = readyMs.length < record.replacements || readyMs.includes(undefined);
  const endMs = isShort ? nowMs : Math.max(startedMs, ...(readyMs as readonly number[]));
  tree.add("replace", {
    name: "launch replacements",
    startMs: startedMs,
    endMs,
    attributes: { "karpenter.command.replacements": record.replacements },
    ...(isShort ? { problem: "not all replacements became ready" } : {}),
    links: replacements.map(({ claim }) => traceIdOf(uidOf(claim))),
  });
  return endMs;
}

const ENDINGS = [
  ["Drained", "drain"],
  ["VolumesDetached", "detach volumes"],
] as const;

/**
 * Adds the spans in which the node of this claim is drained, its volumes are detached, and its instance is terminated.
 */
function addEnd(
  tree: SpanTree,
  { claim, seenMs, isSpared }: EndedClaim,
  { nowMs, readyMs }: { readonly nowMs: number; readonly readyMs: number },
): void {
  if (isSpared) return;
  const path = `end-${uidOf(claim)}`;
  const writtenMs = fromRfc3339(claim.metadata.deletionTimestamp);
  const startMs = sharper(writtenMs, seenMs["deleting"]) ?? readyMs;
  const endMs = Math.max(startMs, seenMs["gone"] ?? nowMs);
  const labels = claim.metadata.labels ?? {};
  tree.add(path, {
    name: "end node",
    startMs,
    endMs,
    attributes: attributesOf({
      "k8s.node.name": claim.status?.nodeName,
      "karpenter.nodeclaim.name": claim.metadata.name,
      "karpenter.nodeclaim.uid": claim.metadata.uid,
      "karpenter.nodepool.name": poolNameOfLabels(labels),
      "host.type": labels["node.kubernetes.io/instance-type"],
    }),
  });
  let fromMs = startMs;
  for (const [type, name] of ENDINGS) {
    const doneMs = trueSinceMs(claim, type, seenMs);
    if (doneMs === undefined) continue;
    const toMs = Math.min(endMs, Math.max(fromMs, doneMs));
    tree.add(`${path}/${name}`, { name, startMs: fromMs, endMs: toMs });
    fromMs = toMs;
  }
  tree.add(`${path}/instance`, { name: "end instance", startMs: fromMs, endMs });
}

function uidOf({ metadata }: NodeClaim): string {
  return metadata.uid ?? metadata.name;
}

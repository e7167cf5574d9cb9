/**
 * A calendar of the coming week: how many nodes the budgets of a pool and of the cluster allow to disrupt in each span
 * of time.
 */
import type { Pool } from "../../apis/hub/pool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { atOnce } from "../../base/steps.ts";
import { allowedDisruptions } from "../disruption/budgets.ts";
import type { CommandReason } from "../disruption/command.ts";
import type { Picture } from "../disruption/make-round.ts";
import { countNodes } from "../disruption/node-counts.ts";
import { changesWithin, REASONS } from "./calendar.ts";

/** A span of time in which the budgets allow the same number. */
export interface Span {
  /** The times are RFC 3339. The next span begins at `to`. */
  readonly from: string;
  readonly to: string;
  /**
   * How many nodes of the pool may be disrupted at the same time, including nodes that are not Ready or leaving.
   * Absent: a budget is invalid.
   */
  readonly allowed?: number;
}

/** The spans of a week for one reason for disruption. */
export interface ReasonWeek {
  readonly reason: CommandReason;
  /** The spans follow each other without a gap. Neighbours differ in the number that they allow. */
  readonly spans: readonly Span[];
}

const WEEK_MS = 7 * 24 * 3_600_000;

/**
 * The calendar of a pool, one row for each reason. Empty: the budgets count no node of the pool, so they allow none at
 * any time, however open they are. An invalid budget is shown even then.
 */
export function weekOf(
  { nowMs, nodes, clusterBudgets }: Pick<Picture, "nowMs" | "nodes" | "clusterBudgets">,
  { id, disruption: { budgets } }: Pick<Pool, "id" | "disruption">,
): readonly ReasonWeek[] {
  // Budgets count neither nodes that are still coming up nor ended ones, so the calendar does not either.
  const counts = atOnce(countNodes(nodes));
  const own = counts.byPool.get(id)?.nodes ?? 0;
  const managed = counts.all.nodes;
  const endMs = nowMs + WEEK_MS;
  const cuts = [nowMs, ...changesWithin([...budgets, ...clusterBudgets], nowMs, endMs), endMs];
  const week = REASONS.map((reason) => {
    const spans: Span[] = [];
    for (let index = 0; index + 1 < cuts.length; index++) {
      const atMs = cuts[index] as number;
      const ofPool = allowedDisruptions(budgets, { reason, nodes: own, nowMs: atMs });
      const ofCluster = allowedDisruptions(clusterBudgets, { reason, nodes: managed, nowMs: atMs });
      const isBroken = ofPool === undefined || ofCluster === undefined;
      const allowed = isBroken ? undefined : Math.min(ofPool, ofCluster, own);
      const to = toRfc3339(cuts[index + 1] as number);
      const last = spans.at(-1);
      if (last !== undefined && last.allowed === allowed) spans[spans.length - 1] = { ...last, to };
      else
        spans.push({ from: toRfc3339(atMs), to, ...(isBroken ? {} : { allowed: allowed ?? 0 }) });
    }
    return { reason, spans };
  });
  const isBroken = week.some(({ spans }) => spans.some(({ allowed }) => allowed === undefined));
  return own === 0 && !isBroken ? [] : week;
}

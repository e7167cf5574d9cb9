/** How many nodes a pool's budgets allow to disrupt for each reason, and when they next allow one. */

import type { Pool } from "../../apis/hub/pool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { counted, grouped } from "../../base/counted.ts";
import { atOnce } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { allowancesFor, brokenBudgets, budgetProblems } from "../disruption/budgets.ts";
import type { CommandReason } from "../disruption/command.ts";
import type { Picture } from "../disruption/make-round.ts";
import { nextAllowed, whoseBudgets, windowOf } from "./calendar.ts";
import type { Hold } from "./hold.ts";
import { poolObject } from "./hold.ts";

/** One budget, as written, and whether its window is open. */
export interface BudgetAnswer {
  readonly nodes: string;
  readonly reasons?: readonly string[];
  readonly schedule?: string;
  readonly timeZone?: string;
  readonly duration?: string;
  /** Whether the budget's window is open. False if the budget is invalid. */
  readonly active: boolean;
  /** When the budget's window closes, or opens next, as RFC 3339. */
  readonly changesAt?: string;
  /** Why the budget is invalid. */
  readonly problem?: string;
}

/** What all budgets together allow for one reason. */
export interface Allowed {
  readonly reason: CommandReason;
  readonly says: string;
  /** How many nodes may be disrupted now, at most the number of the pool's nodes. For an empty pool: 1 at most. */
  readonly allowed: number;
  /** How many nodes are not Ready, rebooting or leaving. They count against budgets. */
  readonly disrupting: number;
  /**
   * When a node may next be disrupted, as RFC 3339. If one may be disrupted now, the current time. Absent: a person
   * must change something first.
   */
  readonly nextAllowedDisruption?: string;
}

/** The pool's own budgets, in the order of its spec. */
export function budgetAnswers(pool: Pool, nowMs: number): readonly BudgetAnswer[] {
  return pool.disruption.budgets.map((budget) => {
    const problems = budgetProblems(budget);
    const window = windowOf(budget, nowMs);
    const { changesAtMs } = window ?? {};
    const { nodes, reasons, schedule, timeZone, duration } = budget;
    return {
      nodes,
      ...(reasons === undefined ? {} : { reasons }),
      ...(schedule === undefined ? {} : { schedule }),
      ...(timeZone === undefined ? {} : { timeZone }),
      ...(duration === undefined ? {} : { duration }),
      active: window?.active ?? false,
      ...(changesAtMs === undefined ? {} : { changesAt: toRfc3339(changesAtMs) }),
      ...(problems.length === 0 ? {} : { problem: problems.join("; ") }),
    };
  });
}

const known = new WeakMap<Picture, Map<string, Allowed>>();

/**
 * What the budgets allow now. Cached for each picture (the state of the cluster at one moment), because it is needed
 * for each node of a pool.
 */
export function allowedNow(picture: Picture, pool: Pool, reason: CommandReason): Allowed {
  const ofPicture = within(known, picture, () => new Map<string, Allowed>());
  const key = `${pool.id} ${reason}`;
  return within(ofPicture, key, () => workOut(picture, pool, reason));
}

function workOut(picture: Picture, pool: Pool, reason: CommandReason): Allowed {
  const { nowMs, nodes, clusterBudgets } = picture;
  const pools = [pool];
  const allowance = atOnce(allowancesFor({ pools, nodes, reason, nowMs, clusterBudgets })).get(
    pool.id,
  );
  const { disrupting = 0, nodes: count = 0, everywhere } = allowance ?? {};
  // Without an active budget, the allowance is a very large number. So it is capped at the number of the pool's nodes,
  // or at 1 for an empty pool.
  const allowed = Math.min(allowance?.allowed ?? 0, Math.max(1, count));
  const head = { reason, allowed, disrupting };
  const pause = picture.paused(pool);
  // A pause stops voluntary disruption only. Node repair is not voluntary.
  if (pause !== undefined && reason !== "Unhealthy")
    return { ...head, allowed: 0, says: pause.message };
  // A percentage of zero nodes is always zero. So for an empty pool, the number for one node is reported.
  const own = { budgets: pool.disruption.budgets, nodes: Math.max(1, count), disrupting };
  const all = {
    budgets: clusterBudgets,
    nodes: Math.max(1, everywhere?.nodes ?? 0),
    disrupting: everywhere?.disrupting ?? 0,
  };
  const next = nextAllowed([own, all], reason, nowMs);
  const isOwn = whoseBudgets({ own, ofCluster: all }, reason, nowMs) === "pool";
  const whose = isOwn ? "budgets" : "the cluster's budgets (disruption-budgets)";
  switch (next.when) {
    case "now": {
      const says =
        count === 0
          ? "it has no node to disrupt"
          : `budgets allow ${grouped(allowed)} of ${counted(count, "node")} to be disrupted now`;
      return { ...head, says, nextAllowedDisruption: toRfc3339(nowMs) };
    }
    case "busy": {
      const by = isOwn ? disrupting : all.disrupting;
      const says = `${whose} are used up by ${counted(by, "node")} not ready or being removed`;
      return { ...head, says };
    }
    case "at": {
      const at = toRfc3339(next.atMs);
      return {
        ...head,
        says: `${whose} allow no disruption until ${at}`,
        nextAllowedDisruption: at,
      };
    }
    case "never":
      return { ...head, says: `${whose} allow no disruption, and no schedule ever ends that` };
    case "broken":
      return { ...head, says: brokenBudgets(pool.disruption.budgets) ?? "a budget cannot be read" };
  }
}

/** The hold because budgets allow no disruption of the pool's nodes for this reason. Undefined: they allow one. */
export function budgetHold(picture: Picture, pool: Pool, reason: CommandReason): Hold | undefined {
  // A pause is a separate hold, so the budgets are not reported.
  if (picture.paused(pool) !== undefined) return undefined;
  const { allowed, says, nextAllowedDisruption } = allowedNow(picture, pool, reason);
  if (allowed > 0) return undefined;
  return {
    block: "budget",
    says,
    by: poolObject(pool),
    ...(nextAllowedDisruption === undefined ? {} : { until: nextAllowedDisruption }),
    against: [reason],
  };
}

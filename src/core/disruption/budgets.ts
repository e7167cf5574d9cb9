/**
 * How many nodes of each pool may be disrupted now: the strictest active budget for the reason, less the nodes that are
 * disrupted already. A budget that cannot be read allows nothing. karpenter-ts only: the cluster may have budgets of
 * the same shape, over the nodes of all pools together.
 * upstream: pkg/controllers/disruption/helpers.go (BuildDisruptionBudgetMapping), pkg/apis/v1/nodepool.go
 */
import type { Pool } from "../../apis/hub/pool.ts";
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import { type Cron, cronProblem, nextAfter, parseCron } from "../../base/cron.ts";
import { parseDuration } from "../../base/duration.ts";
import type { Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import type { NodeView } from "../state/node-view.ts";
import type { CommandReason } from "./command.ts";
import { type Count, countNodes } from "./node-counts.ts";

/** Nodes that budgets are about, and how many of them may still be disrupted. */
export interface Share extends Count {
  readonly allowed: number;
}

/** `allowed` and `atOnce` keep the budgets of the cluster, too. */
export interface PoolAllowance extends Share {
  readonly pool: Pool;
  /** How many nodes may be disrupted at the same time: `allowed` and those that are disrupted already. */
  readonly atOnce: number;
  /** Budgets of the cluster over the nodes of all pools; the same in each allowance. */
  readonly everywhere: Share;
}

export interface AllowancesInput {
  readonly pools: readonly Pool[];
  /** Sorted by name. */
  readonly nodes: readonly NodeView[];
  /** See `before` of {@link countNodes}. */
  readonly nodesBefore?: readonly NodeView[] | undefined;
  readonly reason: CommandReason;
  readonly nowMs: number;
  readonly clusterBudgets: readonly Budget[];
}

const DAY_MS = 24 * 60 * 60_000;
const UNLIMITED = 2 ** 31 - 1;
const NO_NODES = { nodes: 0, disrupting: 0, away: 0 };

/** Budgets of each pool (by id) and of the cluster, less the nodes that are disrupted already. */
export function* allowancesFor({
  pools,
  nodes,
  nodesBefore,
  reason,
  nowMs,
  clusterBudgets,
}: AllowancesInput): Steps<ReadonlyMap<string, PoolAllowance>> {
  const counts = yield* countNodes(nodes, nodesBefore);
  // Nodes that are not Ready are what repair is about, so they do not use up its budgets.
  const countOf = ({ nodes: there, disrupting, away }: typeof counts.all): Count => ({
    nodes: there,
    disrupting: reason === "Unhealthy" ? away : disrupting,
  });
  const all = countOf(counts.all);
  const atOnceOf = (budgets: readonly Budget[], { nodes }: Count): number =>
    allowedDisruptions(budgets, { reason, nodes, nowMs }) ?? 0;
  const shareOf = (most: number, count: Count): Share => ({
    ...count,
    allowed: Math.max(0, most - count.disrupting),
  });
  const mostOfAll = atOnceOf(clusterBudgets, all);
  const everywhere = shareOf(mostOfAll, all);
  return new Map(
    pools.map((pool) => {
      const count = countOf(counts.byPool.get(pool.id) ?? NO_NODES);
      const most = atOnceOf(pool.disruption.budgets, count);
      const own = shareOf(most, count);
      const allowed = Math.min(own.allowed, everywhere.allowed);
      return [pool.id, { ...own, pool, allowed, atOnce: Math.min(most, mostOfAll), everywhere }];
    }),
  );
}

/** A budget without reasons is about every reason. */
export function isAbout({ reasons }: Budget, reason: CommandReason): boolean {
  return reasons?.some((one) => one === reason) !== false;
}

/** The question to budgets. */
export interface BudgetQuestion {
  readonly reason: CommandReason;
  /** How many nodes the budgets are about. */
  readonly nodes: number;
  readonly nowMs: number;
}

/** How many nodes the strictest budget allows; undefined: one of them cannot be read, whatever its reasons. */
export function allowedDisruptions(
  budgets: readonly Budget[],
  { reason, nodes, nowMs }: BudgetQuestion,
): number | undefined {
  let allowed = UNLIMITED;
  for (const budget of budgets) {
    const active = isActive(budget, nowMs);
    const most = amount(budget.nodes, nodes);
    if (active === undefined || most === undefined) return undefined;
    if (active && isAbout(budget, reason)) allowed = Math.min(allowed, most);
  }
  return allowed;
}

/** The first budget that cannot be read, by field and value; undefined: all can be. `path`: where the list stands. */
export function brokenBudget(
  budgets: readonly Budget[],
  path = "spec.disruption.budgets",
): string | undefined {
  for (const [index, budget] of budgets.entries()) {
    const problem = budgetProblem(budget);
    if (problem !== undefined) return `${path}[${index}]${problem}`;
  }
  return undefined;
}

/** What cannot be read in a budget, to be appended to its path; undefined: nothing. */
export function budgetProblem(budget: Budget): string | undefined {
  const { nodes, schedule, timeZone, duration } = budget;
  if (amount(nodes, 0) === undefined)
    return `.nodes: ${JSON.stringify(nodes)} is neither a count nor a percentage`;
  if (schedule === undefined && duration === undefined) return undefined;
  if (schedule === undefined || duration === undefined)
    return ": schedule and duration come together";
  if (scheduleOf(budget) !== undefined) return undefined;
  if (timeZone !== undefined && cronProblem(schedule) === undefined) {
    const place = JSON.stringify(timeZone);
    if (cronProblem(`CRON_TZ=${timeZone} ${schedule}`) !== undefined)
      return namesPlace(schedule)
        ? `.timeZone: ${place} beside a schedule that names a time zone; remove one of them`
        : `.timeZone: there is no time zone ${place}; write one such as Europe/Zurich`;
  }
  const unread = cronProblem(schedule);
  return unread === undefined
    ? `.duration: ${JSON.stringify(duration)} is no duration such as 10h or 1h30m`
    : `.schedule: ${JSON.stringify(schedule)} cannot be read: ${unread}`;
}

/** Whether the window of the budget is open; undefined: its schedule or duration cannot be read. */
export function isActive(budget: Budget, nowMs: number): boolean | undefined {
  if (budget.schedule === undefined && budget.duration === undefined) return true;
  const schedule = scheduleOf(budget);
  if (schedule === undefined) return undefined;
  // A window that opened exactly `duration` ago has just closed.
  const hitMs = firstHit(schedule, nowMs - schedule.durationMs);
  return hitMs !== undefined && hitMs <= nowMs;
}

/** Schedule and duration of a budget, parsed once because budgets are read many times a minute. */
export interface Schedule {
  readonly cron: Cron;
  readonly durationMs: number;
  /** Last result of {@link firstHit}: valid for every instant from `sinceMs` to the hit. */
  last: { readonly sinceMs: number; readonly hitMs: number | undefined } | undefined;
}

const schedules = new WeakMap<Budget, Schedule | "unreadable">();

/** The schedule as a cron text, with its time zone. */
function inPlace({ schedule = "", timeZone }: Budget): string {
  return timeZone === undefined ? schedule : `CRON_TZ=${timeZone} ${schedule}`;
}

function namesPlace(schedule: string): boolean {
  return /^\s*(CRON_)?TZ=/.test(schedule);
}

/** The parsed schedule. Undefined: the budget has none, or it cannot be parsed. */
export function scheduleOf(budget: Budget): Schedule | undefined {
  const known = within(schedules, budget, () => {
    const cron = parseCron(inPlace(budget));
    const durationMs = parseDuration(budget.duration ?? "");
    return cron === undefined || durationMs === undefined
      ? "unreadable"
      : { cron, durationMs, last: undefined };
  });
  return known === "unreadable" ? undefined : known;
}

function firstHit(schedule: Schedule, afterMs: number): number | undefined {
  const { last } = schedule;
  if (last !== undefined && last.sinceMs <= afterMs) {
    // A schedule that never occurs (30 February) makes the search run through years, so it is repeated only once a day.
    const untilMs = last.hitMs ?? last.sinceMs + DAY_MS;
    if (afterMs < untilMs) return last.hitMs;
  }
  const hitMs = nextAfter(schedule.cron, afterMs);
  schedule.last = { sinceMs: afterMs, hitMs };
  return hitMs;
}

/** `"10%"` of the nodes, rounded up, or a plain count. */
function amount(text: string, nodes: number): number | undefined {
  if (/^\d+%$/.test(text)) return Math.ceil((Number(text.slice(0, -1)) * nodes) / 100);
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/**
 * How many nodes of each pool may be disrupted now: what the strictest active budget for the reason allows, minus the
 * nodes that are disrupted already. An invalid budget allows nothing. karpenter-ts only: the cluster may have budgets,
 * too.
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

/** How many nodes some budgets count, how many of them are disrupted already, and how many more may be. */
export interface Share extends Count {
  readonly allowed: number;
}

/** How many nodes of one pool may be disrupted. `allowed` and `atOnce` respect the budgets of pool and cluster. */
export interface PoolAllowance extends Share {
  readonly pool: Pool;
  /** How many nodes may be disrupted at the same time, including the nodes that are disrupted already. */
  readonly atOnce: number;
  /** What the budgets of the cluster allow for all pools together. The same in the allowance of each pool. */
  readonly everywhere: Share;
}

export interface AllowancesInput {
  readonly pools: readonly Pool[];
  /** All nodes, sorted by name. */
  readonly nodes: readonly NodeView[];
  /** An earlier list of nodes, see `before` of {@link countNodes}. */
  readonly nodesBefore?: readonly NodeView[] | undefined;
  readonly reason: CommandReason;
  readonly nowMs: number;
  readonly clusterBudgets: readonly Budget[];
}

const DAY_MS = 24 * 60 * 60_000;
const UNLIMITED = 2 ** 31 - 1;
const NO_NODES = { nodes: 0, disrupting: 0, away: 0 };

/** For each pool (by id): how many more nodes its budgets and those of the cluster allow to disrupt. */
export function* allowancesFor({
  pools,
  nodes,
  nodesBefore,
  reason,
  nowMs,
  clusterBudgets,
}: AllowancesInput): Steps<ReadonlyMap<string, PoolAllowance>> {
  const counts = yield* countNodes(nodes, nodesBefore);
  // Node repair disrupts nodes that are not Ready. If they counted as disrupted, no budget would be left for them.
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

/** Whether the budget limits this reason. A budget without reasons limits every reason. */
export function isAbout({ reasons }: Budget, reason: CommandReason): boolean {
  return reasons?.some((one) => one === reason) !== false;
}

export interface BudgetQuestion {
  readonly reason: CommandReason;
  /** How many nodes the budgets count. Percentages refer to this number. */
  readonly nodes: number;
  readonly nowMs: number;
}

/** How many nodes the strictest active budget for the reason allows. Undefined: any of the budgets is invalid. */
export function allowedDisruptions(
  budgets: readonly Budget[],
  { reason, nodes, nowMs }: BudgetQuestion,
): number | undefined {
  let allowed = UNLIMITED;
  for (const budget of budgets) {
    const active = isBudgetActive(budget, nowMs);
    const most = amount(budget.nodes, nodes);
    if (active === undefined || most === undefined) return undefined;
    if (active && isAbout(budget, reason)) allowed = Math.min(allowed, most);
  }
  return allowed;
}

/** All invalid fields of the budgets, with value and remedy. Undefined: none. `path`: the field that has the list. */
export function brokenBudgets(
  budgets: readonly Budget[],
  path = "spec.disruption.budgets",
): string | undefined {
  const all = budgets.flatMap((budget, index) =>
    budgetProblems(budget).map((problem) => `${path}[${index}]${problem}`),
  );
  return all.length === 0 ? undefined : all.join("; ");
}

/** The faults of a budget, as texts to append to the path of the budget. Empty: the budget is valid. */
export function budgetProblems(budget: Budget): readonly string[] {
  const { nodes, schedule, timeZone, duration } = budget;
  const problems: string[] = [];
  if (amount(nodes, 0) === undefined)
    problems.push(
      `.nodes: ${JSON.stringify(nodes)} is neither a count nor a percentage; write one such as 5 or 10%`,
    );
  if (schedule !== undefined && duration === undefined)
    problems.push(
      `.schedule: ${JSON.stringify(schedule)} without a duration; add one such as 8h, or remove the schedule`,
    );
  if (schedule === undefined && duration !== undefined)
    problems.push(
      `.duration: ${JSON.stringify(duration)} without a schedule; add one such as @daily, or remove the duration`,
    );
  const unread = schedule === undefined ? undefined : cronProblem(schedule);
  if (unread !== undefined)
    problems.push(`.schedule: ${JSON.stringify(schedule)} cannot be read: ${unread}`);
  if (schedule !== undefined && timeZone !== undefined)
    problems.push(...zoneProblems(schedule, timeZone));
  if (duration !== undefined && parseDuration(duration) === undefined)
    problems.push(`.duration: ${JSON.stringify(duration)} is no duration such as 10h or 1h30m`);
  return problems;
}

function zoneProblems(schedule: string, timeZone: string): readonly string[] {
  const zone = JSON.stringify(timeZone);
  if (namesTimeZone(schedule))
    return [`.timeZone: ${zone} beside a schedule that names a time zone; remove one of them`];
  return parseCron(`CRON_TZ=${timeZone} @daily`) === undefined
    ? [`.timeZone: there is no time zone ${zone}; write one such as Europe/Zurich`]
    : [];
}

/** Whether the budget applies now. Undefined: its schedule or duration is invalid. */
export function isBudgetActive(budget: Budget, nowMs: number): boolean | undefined {
  if (budget.schedule === undefined && budget.duration === undefined) return true;
  const schedule = scheduleOf(budget);
  if (schedule === undefined) return undefined;
  // A window of the schedule that opened exactly `duration` ago has just closed.
  const hitMs = firstHit(schedule, nowMs - schedule.durationMs);
  return hitMs !== undefined && hitMs <= nowMs;
}

/** The parsed schedule and duration of a budget. They are cached, because budgets are read many times a minute. */
export interface Schedule {
  readonly cron: Cron;
  readonly durationMs: number;
  /** The last result of {@link firstHit}. It holds for every instant from `sinceMs` until `hitMs`. */
  last: { readonly sinceMs: number; readonly hitMs: number | undefined } | undefined;
}

const schedules = new WeakMap<Budget, Schedule | "unreadable">();

/** The cron text of the schedule, with the time zone in front. */
function cronTextOf({ schedule = "", timeZone }: Budget): string {
  return timeZone === undefined ? schedule : `CRON_TZ=${timeZone} ${schedule}`;
}

function namesTimeZone(schedule: string): boolean {
  return /^\s*(CRON_)?TZ=/.test(schedule);
}

/** The parsed schedule. Undefined: the budget has none, or it is invalid. */
export function scheduleOf(budget: Budget): Schedule | undefined {
  const known = within(schedules, budget, () => {
    const cron = parseCron(cronTextOf(budget));
    const durationMs = parseDuration(budget.duration ?? "");
    return cron === undefined || durationMs === undefined
      ? "unreadable"
      : { cron, durationMs, last: undefined };
  });
  return known === "unreadable" ? undefined : known;
}

/** The first time after `afterMs` at which the schedule opens a window. Undefined: it never does. */
function firstHit(schedule: Schedule, afterMs: number): number | undefined {
  const { last } = schedule;
  if (last !== undefined && last.sinceMs <= afterMs) {
    // For a schedule that never occurs (30 February), the search runs through years. So it is repeated only once a day.
    const untilMs = last.hitMs ?? last.sinceMs + DAY_MS;
    if (afterMs < untilMs) return last.hitMs;
  }
  const hitMs = nextAfter(schedule.cron, afterMs);
  schedule.last = { sinceMs: afterMs, hitMs };
  return hitMs;
}

/**
 * The number of nodes that a budget's text means: a count, or a percentage of `nodes`, rounded up. Undefined: invalid.
 */
function amount(text: string, nodes: number): number | undefined {
  if (/^\d+%$/.test(text)) return Math.ceil((Number(text.slice(0, -1)) * nodes) / 100);
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

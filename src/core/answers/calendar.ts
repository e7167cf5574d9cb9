/**
 * Budgets over time: when a window opens or closes, and when a pool may next lose a node. Only explanations and
 * conditions use this file. Decisions use core/disruption/budgets.ts, which says what is allowed now.
 */
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nextAfter } from "../../base/cron.ts";
import { allowedDisruptions, brokenBudgets, isAbout, scheduleOf } from "../disruption/budgets.ts";
import type { CommandReason } from "../disruption/command.ts";

/** Whether the window of a budget is open, and when that changes. */
export interface Window {
  readonly active: boolean;
  /** When the window closes, or the next one opens. Absent: never within the time that is searched. */
  readonly changesAtMs?: number;
}

/**
 * The maximum number of steps of one search. A step is one window of a budget, or one instant at which a window opens
 * or closes.
 */
const MOST_WINDOWS = 1_000;
const HORIZON_MS = 366 * 24 * 60 * 60_000;

/** The window of a budget that is open or opens next. Undefined: its schedule is invalid. */
export function windowOf(budget: Budget, nowMs: number): Window | undefined {
  if (budget.schedule === undefined && budget.duration === undefined) return { active: true };
  const schedule = scheduleOf(budget);
  if (schedule === undefined) return undefined;
  const { cron, durationMs } = schedule;
  let hitMs = nextAfter(cron, nowMs - durationMs);
  if (hitMs === undefined) return { active: false };
  if (hitMs > nowMs) return { active: false, changesAtMs: hitMs };
  for (let count = 0; count < MOST_WINDOWS; count++) {
    const endMs: number = hitMs + durationMs;
    const next = nextAfter(cron, hitMs);
    if (next === undefined || next > endMs) return { active: true, changesAtMs: endMs };
    hitMs = next;
  }
  return { active: true };
}

/**
 * When disruption is next allowed. `busy`: as soon as nodes that are disrupted now are finished. `never`: at no time
 * within the searched time. `broken`: a budget is invalid.
 */
export type NextAllowed =
  | { readonly when: "now" | "busy" | "never" | "broken" }
  | { readonly when: "at"; readonly atMs: number };

/** Budgets of a pool or of the cluster, and the nodes that they count. */
export interface Budgeted {
  readonly budgets: readonly Budget[];
  readonly nodes: number;
  readonly disrupting: number;
}

/** When all of these budgets next allow the disruption of a node for this reason. */
export function nextAllowed(
  all: readonly Budgeted[],
  reason: CommandReason,
  nowMs: number,
): NextAllowed {
  const now = stateAt(all, reason, nowMs);
  if (now === "broken") return { when: "broken" };
  if (now !== "closed") return { when: now === "open" ? "now" : "busy" };
  const budgets = all.flatMap((one) => one.budgets.filter((budget) => isAbout(budget, reason)));
  // If a budget whose window never closes allows nothing, the search is skipped.
  const lasting = budgets.filter((budget) => {
    const window = windowOf(budget, nowMs);
    return window?.active === true && window.changesAtMs === undefined;
  });
  if (allowedDisruptions(lasting, { reason, nodes: 1, nowMs }) === 0) return { when: "never" };
  let count = 0;
  for (const atMs of changesOf(budgets, nowMs)) {
    if (++count > MOST_WINDOWS || atMs > nowMs + HORIZON_MS) break;
    // Nodes that use up a budget now are finished within minutes, so a used-up budget counts as allowing.
    if (stateAt(all, reason, atMs) !== "closed") return { when: "at", atMs };
  }
  return { when: "never" };
}

/** The owner of the budgets. */
export type Whose = "pool" | "cluster";

/** Whether the pool's budgets or those of the cluster block this reason longer. If both do equally long: the pool's. */
export function whoseBudgets(
  { own, ofCluster }: { readonly own: Budgeted; readonly ofCluster: Budgeted },
  reason: CommandReason,
  nowMs: number,
): Whose {
  const endsMs = (one: Budgeted) => endOf(nextAllowed([one], reason, nowMs));
  return endsMs(own) >= endsMs(ofCluster) ? "pool" : "cluster";
}

/** When the block ends, for comparisons. A used-up budget counts as ending first, because that takes only minutes. */
function endOf(next: NextAllowed): number {
  if (next.when === "at") return next.atMs;
  if (next.when === "now") return Number.NEGATIVE_INFINITY;
  return next.when === "busy" ? 0 : Number.POSITIVE_INFINITY;
}

/** The state of budgets at an instant. `used up`: they allow no more nodes than are disrupted already. */
function stateAt(
  all: readonly Budgeted[],
  reason: CommandReason,
  atMs: number,
): "broken" | "closed" | "used up" | "open" {
  let state: "used up" | "open" = "open";
  for (const { budgets, nodes, disrupting } of all) {
    const allowed = allowedDisruptions(budgets, { reason, nodes, nowMs: atMs });
    if (allowed === undefined) return "broken";
    if (allowed === 0) return "closed";
    if (allowed <= disrupting) state = "used up";
  }
  return state;
}

/**
 * The instants between `fromMs` and `toMs` at which a window opens or closes, in order, at most {@link MOST_WINDOWS}.
 */
export function changesWithin(
  budgets: readonly Budget[],
  fromMs: number,
  toMs: number,
): readonly number[] {
  const found: number[] = [];
  for (const atMs of changesOf(budgets, fromMs)) {
    if (atMs >= toMs || found.length >= MOST_WINDOWS) break;
    found.push(atMs);
  }
  return found;
}

/** The instants at which a window of one of these budgets opens or closes, in order. */
function* changesOf(budgets: readonly Budget[], nowMs: number): Generator<number, undefined> {
  const next = budgets.map((budget) => windowOf(budget, nowMs)?.changesAtMs);
  for (;;) {
    const atMs = Math.min(...next.map((one) => one ?? Number.POSITIVE_INFINITY));
    if (atMs === Number.POSITIVE_INFINITY) return undefined;
    yield atMs;
    budgets.forEach((budget, index) => {
      if (next[index] === atMs) next[index] = windowOf(budget, atMs)?.changesAtMs;
    });
  }
}

/** The content of a pool's condition DisruptionAllowed. */
export interface BudgetStanding {
  /** Which reasons are not allowed, and why. Undefined: budgets and pauses allow every reason now. */
  readonly held:
    | {
        /** `True`: some reasons are allowed, others are not. */
        readonly status: "True" | "False";
        readonly reason: "Paused" | "BudgetNotReadable" | "Budgets";
        readonly message: string;
      }
    | undefined;
  /** When a window opens or closes next. Absent: never. */
  readonly changesAtMs?: number;
}

/** The reasons that budgets can name, without node repair. */
export const REASONS: readonly CommandReason[] = ["Empty", "Drifted", "Underutilized"];

/** The budgets and settings that decide the condition DisruptionAllowed of a pool. */
export interface StandingInput {
  readonly budgets: readonly Budget[];
  readonly clusterBudgets: readonly Budget[];
  /** Why the pool is paused. Undefined: it is not paused. */
  readonly paused: string | undefined;
  /**
   * Whether the expiration of nodes respects budgets. For expiration, only budgets without reasons count, because no
   * budget can name this reason.
   */
  readonly expires: boolean;
}

/** The content of a pool's condition DisruptionAllowed. Budgets are read as if no node were disrupted now. */
export function budgetStandingOf(
  { budgets, clusterBudgets, paused, expires }: StandingInput,
  nowMs: number,
): BudgetStanding {
  if (paused !== undefined) return { held: { status: "False", reason: "Paused", message: paused } };
  // The budgets are applied to one node, so every percentage above 0 % allows it.
  const ofOne = (some: readonly Budget[]) => ({ budgets: some, nodes: 1, disrupting: 0 });
  const [own, ofCluster] = [ofOne(budgets), ofOne(clusterBudgets)];
  const changesAtMs = changesOf([...budgets, ...clusterBudgets], nowMs).next().value;
  const changes = changesAtMs === undefined ? {} : { changesAtMs };
  const reasons = expires ? [...REASONS, "Expired" as const] : REASONS;
  const next = reasons.map((reason) => ({
    reason,
    whose: whoseBudgets({ own, ofCluster }, reason, nowMs),
    ...nextAllowed([own, ofCluster], reason, nowMs),
  }));
  if (next.some(({ when }) => when === "broken")) {
    const message =
      brokenBudgets(budgets) ?? `disruption-budgets: ${brokenBudgets(clusterBudgets, "budgets")}`;
    return { held: { status: "False", reason: "BudgetNotReadable", message }, ...changes };
  }
  if (next.every(({ when }) => when === "now")) return { held: undefined, ...changes };
  const status = next.some(({ when }) => when === "now") ? "True" : "False";
  const told = next.map(({ reason, whose, ...one }) => [reason, inWords(one, whose)] as const);
  const [first, ...others] = [...new Set(told.map(([, text]) => text))] as [string, ...string[]];
  const message =
    others.length === 0 ? first : told.map(([reason, text]) => `${reason}: ${text}`).join("; ");
  return { held: { status, reason: "Budgets", message }, ...changes };
}

function inWords(next: NextAllowed, whose: Whose): string {
  if (next.when === "now") return "allowed now";
  const cluster = "the cluster's budgets (disruption-budgets)";
  const isCluster = whose === "cluster";
  if (next.when === "at") {
    const at = `next allowed disruption: ${toRfc3339(next.atMs)}`;
    return isCluster ? `${at}, by ${cluster}` : at;
  }
  return `${isCluster ? cluster : "budgets"} allow no disruption, and no schedule ever ends that`;
}

/**
 * Budgets over time: when a window opens or closes, and when a pool may next lose a node. Only explanations and
 * conditions use this; decisions ask budgets.ts about the present.
 */
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nextAfter } from "../../base/cron.ts";
import { allowedDisruptions, brokenBudget, isAbout, scheduleOf } from "./budgets.ts";
import type { CommandReason } from "./command.ts";

export interface Window {
  readonly active: boolean;
  /** When it closes, or opens next; absent: never within the search. */
  readonly changesAtMs?: number;
}

/** At most this many windows are searched, also windows that follow each other without a gap. */
const MOST_WINDOWS = 1_000;
const HORIZON_MS = 366 * 24 * 60 * 60_000;

/** The window of a budget that is open or opens next; undefined: its schedule cannot be read. */
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
 * `busy`: as soon as nodes that are disrupted now are done. `never`: no window ends the block. `broken`: a budget
 * cannot be read.
 */
export type NextAllowed =
  | { readonly when: "now" | "busy" | "never" | "broken" }
  | { readonly when: "at"; readonly atMs: number };

/** Budgets of a pool or of the cluster, with the nodes that they are about. */
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
  // A budget that is always active ends the search at once.
  const lasting = budgets.filter((budget) => {
    const window = windowOf(budget, nowMs);
    return window?.active === true && window.changesAtMs === undefined;
  });
  if (allowedDisruptions(lasting, { reason, nodes: 1, nowMs }) === 0) return { when: "never" };
  let count = 0;
  for (const atMs of changesOf(budgets, nowMs)) {
    if (++count > MOST_WINDOWS || atMs > nowMs + HORIZON_MS) break;
    // Nodes that use up the budget now are done within minutes, so `used up` counts as allowed here.
    if (stateAt(all, reason, atMs) !== "closed") return { when: "at", atMs };
  }
  return { when: "never" };
}

/** Whose budgets. */
export type Whose = "pool" | "cluster";

/** Whose budgets block the reason longer; {@link nextAllowed} of both names the same time. */
export function whoseBudgets(
  { own, ofCluster }: { readonly own: Budgeted; readonly ofCluster: Budgeted },
  reason: CommandReason,
  nowMs: number,
): Whose {
  const endsMs = (one: Budgeted) => endOf(nextAllowed([one], reason, nowMs));
  return endsMs(own) >= endsMs(ofCluster) ? "pool" : "cluster";
}

/** An instant to compare by. A budget that is used up counts as ended: that takes minutes. */
function endOf(next: NextAllowed): number {
  if (next.when === "at") return next.atMs;
  if (next.when === "now") return Number.NEGATIVE_INFINITY;
  return next.when === "busy" ? 0 : Number.POSITIVE_INFINITY;
}

/** `used up`: the budgets allow no more nodes than are disrupted already. */
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

/** Like {@link changesOf}, between two instants; at most {@link MOST_WINDOWS}. */
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

/** The instants at which a window of these budgets opens or closes, in order. */
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

/** What the condition DisruptionAllowed of a pool says. */
export interface BudgetStanding {
  /** Undefined: budgets and pauses allow every reason now. */
  readonly held:
    | {
        /** `True`: some reasons are allowed, others are not. */
        readonly status: "True" | "False";
        readonly reason: "Paused" | "BudgetNotReadable" | "Budgets";
        readonly message: string;
      }
    | undefined;
  /** When a window opens or closes next; absent: never. */
  readonly changesAtMs?: number;
}

const REASONS: readonly CommandReason[] = ["Empty", "Drifted", "Underutilized"];

export interface StandingInput {
  readonly budgets: readonly Budget[];
  readonly clusterBudgets: readonly Budget[];
  /** Why the pool is paused; undefined: it is not. */
  readonly paused: string | undefined;
  /**
   * Whether expired nodes respect budgets. Only budgets without reasons count, because no budget can name this reason.
   */
  readonly expires: boolean;
}

/** Tells about windows only: nodes that are disrupted now do not count. */
export function budgetStandingOf(
  { budgets, clusterBudgets, paused, expires }: StandingInput,
  nowMs: number,
): BudgetStanding {
  if (paused !== undefined) return { held: { status: "False", reason: "Paused", message: paused } };
  // For one node, every percentage above 0 % allows one.
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
      brokenBudget(budgets) ?? `disruption-budgets: ${brokenBudget(clusterBudgets, "budgets")}`;
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

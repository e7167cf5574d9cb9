/**
 * Turns the replicas that metrics ask for into the replicas to set. When pods are to be removed, the highest
 * recent recommendation wins. Policies limit the speed, and minReplicas and maxReplicas the size. The result
 * names its reason, in the text of the conditions.
 * upstream: pkg/controller/podautoscaler/horizontal.go
 */
import type {
  HorizontalPodAutoscaler,
  ScalingPolicy,
  ScalingRules,
} from "../../../apis/autoscaling/kinds.ts";

/** State of one autoscaler between reconciles. */
export interface ScalingMemory {
  readonly recommendations: readonly { readonly atMs: number; readonly replicas: number }[];
  /** Recent changes: `ups` added pods, `downs` removed pods. */
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
}

/** A past change of the replicas, for policies that limit the speed. */
export interface ScaleEvent {
  readonly atMs: number;
  readonly change: number;
}

/** Reason and message of a condition. */
export interface Saying {
  readonly reason: string;
  readonly message: string;
}

/** The replicas after all rules, and the conditions' reasons. */
export interface ScalingDecision {
  readonly replicas: number;
  readonly ableToScale: Saying;
  readonly limited: Saying & { readonly status: "True" | "False" };
  readonly memory: ScalingMemory;
}

/** Current and wanted replicas, with the bounds. */
export interface Wish {
  readonly current: number;
  /** The replicas that the metrics ask for. */
  readonly desired: number;
  readonly least: number;
  readonly most: number;
  readonly nowMs: number;
}

/** `spec.behavior`: rules for the speed of scaling. */
export type Behavior = NonNullable<HorizontalPodAutoscaler["spec"]["behavior"]>;

/**
 * How long a higher recommendation prevents scaling down. upstream:
 * --horizontal-pod-autoscaler-downscale-stabilization
 */
const DOWNSCALE_STABILIZATION_MS = 300_000;

/** The first state of an autoscaler, with the present size. */
export function firstMemory(current: number, nowMs: number): ScalingMemory {
  return { recommendations: [{ atMs: nowMs, replicas: current }], ups: [], downs: [] };
}

/** The replicas to set. Pure function; `memory` is the one that the last call returned. */
export function decideScale(
  wish: Wish,
  behavior: Behavior | undefined,
  memory: ScalingMemory,
): ScalingDecision {
  const windows = windowsOf(behavior);
  const steady = stabilized(wish, windows, memory, behavior !== undefined);
  const calm = { ...wish, desired: steady.replicas };
  const within =
    behavior === undefined ? withinDefaults(calm) : withinPolicies(calm, behavior, memory);
  const kept = Math.max(windows.upMs, windows.downMs);
  const recommendations = memory.recommendations
    .filter(({ atMs }) => atMs >= wish.nowMs - kept)
    .concat({ atMs: wish.nowMs, replicas: wish.desired });
  return {
    replicas: within.replicas,
    ableToScale: steady.saying,
    limited: {
      ...within.saying,
      status: within.replicas === steady.replicas ? "False" : "True",
    },
    memory: { ...memory, recommendations },
  };
}

/** The state after the target was resized. Changes are recorded only for autoscalers with a behavior. */
export function afterScaling(
  memory: ScalingMemory,
  behavior: Behavior | undefined,
  { current, desired, nowMs }: Pick<Wish, "current" | "desired" | "nowMs">,
): ScalingMemory {
  if (behavior === undefined) return memory;
  const event = { atMs: nowMs, change: Math.abs(desired - current) };
  const recent = (events: readonly ScaleEvent[], rules: ScalingRules | undefined) => {
    const longestMs =
      Math.max(0, ...(rules?.policies ?? []).map((one) => one.periodSeconds)) * 1_000;
    return events.filter(({ atMs }) => atMs >= nowMs - longestMs);
  };
  return desired > current
    ? { ...memory, ups: [...recent(memory.ups, behavior.scaleUp), event] }
    : { ...memory, downs: [...recent(memory.downs, behavior.scaleDown), event] };
}

interface Windows {
  readonly upMs: number;
  readonly downMs: number;
}

function windowsOf(behavior: Behavior | undefined): Windows {
  const down = behavior?.scaleDown?.stabilizationWindowSeconds;
  return {
    upMs: (behavior?.scaleUp?.stabilizationWindowSeconds ?? 0) * 1_000,
    downMs: down === undefined ? DOWNSCALE_STABILIZATION_MS : down * 1_000,
  };
}

const READY: Saying = {
  reason: "ReadyForNewScale",
  message: "recommended size matches current size",
};

function stabilized(
  { current, desired, nowMs }: Wish,
  { upMs, downMs }: Windows,
  { recommendations }: ScalingMemory,
  withBehavior: boolean,
): { readonly replicas: number; readonly saying: Saying } {
  // As upstream: with a behavior, a recommendation exactly as old as the window does not count; without one,
  // it does.
  const since = (ms: number): readonly number[] =>
    recommendations
      .filter(({ atMs }) => (withBehavior ? atMs > nowMs - ms : atMs >= nowMs - ms))
      .map(({ replicas }) => replicas);
  const lowest = Math.min(desired, ...since(upMs));
  const highest = Math.max(desired, ...since(downMs));
  // Without a behavior, only scaling down is stabilized.
  const replicas = withBehavior ? Math.min(Math.max(current, lowest), highest) : highest;
  if (replicas === desired) return { replicas, saying: READY };
  const isUp = withBehavior && desired >= current;
  const saying = isUp
    ? {
        reason: "ScaleUpStabilized",
        message:
          "recent recommendations were lower than current one, applying the lowest recent recommendation",
      }
    : {
        reason: "ScaleDownStabilized",
        message:
          "recent recommendations were higher than current one, applying the highest recent recommendation",
      };
  return { replicas, saying };
}

interface Bounded {
  readonly replicas: number;
  readonly saying: Saying;
}

const WITHIN: Saying = {
  reason: "DesiredWithinRange",
  message: "the desired count is within the acceptable range",
};
const TOO_MANY: Saying = {
  reason: "TooManyReplicas",
  message: "the desired replica count is more than the maximum replica count",
};
const TOO_FEW: Saying = {
  reason: "TooFewReplicas",
  message: "the desired replica count is less than the minimum replica count",
};
const UP_LIMIT: Saying = {
  reason: "ScaleUpLimit",
  message: "the desired replica count is increasing faster than the maximum scale rate",
};
const DOWN_LIMIT: Saying = {
  reason: "ScaleDownLimit",
  message: "the desired replica count is decreasing faster than the maximum scale rate",
};

/** Limits growth without a behavior: at most double, or up to four. */
function withinDefaults({ current, desired, least, most }: Wish): Bounded {
  const fastest = Math.max(2 * current, 4);
  if (desired < least) return { replicas: least, saying: TOO_FEW };
  if (desired <= Math.min(most, fastest)) return { replicas: desired, saying: WITHIN };
  return most > fastest
    ? { replicas: fastest, saying: UP_LIMIT }
    : { replicas: most, saying: TOO_MANY };
}

function withinPolicies(
  { current, desired, least, most, nowMs }: Wish,
  { scaleUp, scaleDown }: Behavior,
  memory: ScalingMemory,
): Bounded {
  if (desired > current) {
    const fastest = Math.max(current, upLimit(current, scaleUp, memory, nowMs));
    const bound = Math.min(most, fastest);
    if (desired > bound) return { replicas: bound, saying: most > fastest ? UP_LIMIT : TOO_MANY };
  } else if (desired < current) {
    const slowest = Math.min(current, downLimit(current, scaleDown, memory, nowMs));
    const bound = Math.max(least, slowest);
    if (desired < bound) return { replicas: bound, saying: least < slowest ? DOWN_LIMIT : TOO_FEW };
  }
  return { replicas: desired, saying: WITHIN };
}

function upLimit(
  current: number,
  rules: ScalingRules | undefined,
  memory: ScalingMemory,
  nowMs: number,
): number {
  if (rules?.selectPolicy === "Disabled" || !rules?.policies?.length) return current;
  const limits = rules.policies.map((policy) => {
    const start = sizeBefore(current, policy, memory, nowMs);
    return policy.type === "Pods"
      ? start + policy.value
      : Math.ceil(start * (1 + policy.value / 100));
  });
  return rules.selectPolicy === "Min" ? Math.min(...limits) : Math.max(...limits);
}

function downLimit(
  current: number,
  rules: ScalingRules | undefined,
  memory: ScalingMemory,
  nowMs: number,
): number {
  if (rules?.selectPolicy === "Disabled" || !rules?.policies?.length) return current;
  const limits = rules.policies.map((policy) => {
    const start = sizeBefore(current, policy, memory, nowMs);
    return policy.type === "Pods"
      ? start - policy.value
      : Math.trunc(start * (1 - policy.value / 100));
  });
  // When scaling down, the smallest change leaves the most pods. So `Min` takes the maximum.
  return rules.selectPolicy === "Min" ? Math.max(...limits) : Math.min(...limits);
}

/** The number of replicas at the start of the policy's period. */
function sizeBefore(
  current: number,
  { periodSeconds }: ScalingPolicy,
  { ups, downs }: ScalingMemory,
  nowMs: number,
): number {
  const changed = (events: readonly ScaleEvent[]): number =>
    events
      .filter(({ atMs }) => atMs > nowMs - periodSeconds * 1_000)
      .reduce((total, { change }) => total + change, 0);
  return current - changed(ups) + changed(downs);
}

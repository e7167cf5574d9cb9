/** The status of a HorizontalPodAutoscaler: conditions, replicas and measured metrics. */
import type { HorizontalPodAutoscaler } from "../../../apis/autoscaling/kinds.ts";
import type { Condition } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";

/** Condition types of a HorizontalPodAutoscaler. */
export type ConditionType = "AbleToScale" | "ScalingActive" | "ScalingLimited";

type Status = NonNullable<HorizontalPodAutoscaler["status"]>;

/** Builds the status in one reconcile. Conditions stay in the order in which they were first set. */
export class StatusDraft {
  #status: Status;
  readonly #nowMs: number;

  constructor(autoscaler: HorizontalPodAutoscaler, nowMs: number) {
    this.#status = autoscaler.status ?? {};
    this.#nowMs = nowMs;
  }

  get value(): Status {
    return this.#status;
  }

  /** Sets one condition of the autoscaler's status. */
  say(type: ConditionType, status: "True" | "False", reason: string, message: string): void {
    const conditions = this.#status.conditions ?? [];
    const known = conditions.find((one) => one.type === type);
    const moved = known?.status === status ? known.lastTransitionTime : undefined;
    const next: Condition = {
      type,
      status,
      lastTransitionTime: moved ?? toRfc3339(this.#nowMs),
      reason,
      message,
    };
    const others = conditions.map((one) => (one === known ? next : one));
    this.#status = {
      ...this.#status,
      conditions: known === undefined ? [...conditions, next] : others,
    };
  }

  /** Sets replicas and metrics. `scaled`: this reconcile resized the target. */
  replicas(current: number, desired: number, metrics: readonly unknown[], scaled: boolean): void {
    const { currentReplicas: _before, ...status } = this.#status;
    this.#status = {
      ...status,
      // Go omits only this field if it is zero.
      ...(current === 0 ? {} : { currentReplicas: current }),
      desiredReplicas: desired,
      currentMetrics: metrics.length === 0 ? null : metrics,
      ...(scaled ? { lastScaleTime: toRfc3339(this.#nowMs) } : {}),
    };
  }
}

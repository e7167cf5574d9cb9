/**
 * Computes the cost of Karpenter's nodes in a scenario from its trace: the present cost, the highest one, and the
 * savings of commands.
 */
import { usd } from "../../core/answers/command-answer.ts";
import type { TraceEvent } from "../../sandbox/trace.ts";

/** Adds up costs from the first event on. */
export class StoryMoney {
  readonly #prices = new Map<string, number>();
  #nowMicroUsdPerHour = 0;
  #mostMicroUsdPerHour = 0;
  #savedMicroUsdPerHour = 0;

  /** Adds the next event of the trace. */
  add({ actor, verb, object, microUsdPerHour }: TraceEvent): void {
    if (actor !== "karpenter") return;
    if (verb === "deleting") this.#savedMicroUsdPerHour += microUsdPerHour ?? 0;
    if (verb === "launched" && microUsdPerHour !== undefined)
      this.#prices.set(object, microUsdPerHour);
    else if (verb !== "terminated" || !this.#prices.delete(object)) return;
    this.#nowMicroUsdPerHour = [...this.#prices.values()].reduce((all, one) => all + one, 0);
    this.#mostMicroUsdPerHour = Math.max(this.#mostMicroUsdPerHour, this.#nowMicroUsdPerHour);
  }

  /** The summary: `$0.0442/h now, $0.0884/h at its peak, disruption saved $0.0442/h`. */
  get says(): string {
    const saved = this.#savedMicroUsdPerHour;
    const change = saved < 0 ? `cost ${usd(-saved)}/h more` : `saved ${usd(saved)}/h`;
    return `${usd(this.#nowMicroUsdPerHour)}/h now, ${usd(this.#mostMicroUsdPerHour)}/h at its peak, disruption ${change}`;
  }
}

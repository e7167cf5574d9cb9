/** Tests that computations wait for earlier ones and their rest, and are dropped if their caller has gone. */
import { expect, it } from "vitest";
import type { Steps } from "../../base/steps.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { CallerGone } from "../../listen/exchange.ts";
import { Turnstile } from "./turnstile.ts";

/** A virtual clock whose time also passes while code runs, where the code says so. */
class HeldClock extends VirtualClock {
  #heldMs = 0;

  hold(ms: number): void {
    this.#heldMs += ms;
  }

  override elapsedMs(): number {
    return super.elapsedMs() + this.#heldMs;
  }

  override turnMs(): number {
    return this.#heldMs;
  }
}

it("rests after each computation for as long as it held the event loop, also after a failure", async () => {
  const clock = new HeldClock(0);
  const turnstile = new Turnstile(clock);
  const seen: string[] = [];
  function* work(name: string, ...turns: readonly number[]): Steps<string> {
    seen.push(`${name} at ${clock.now()}`);
    for (const ms of turns) {
      clock.hold(ms);
      yield;
    }
    if (name === "bad") throw new Error("bad");
    return name;
  }
  const { signal } = new AbortController();
  const gone = new AbortController();
  const all = [
    turnstile.pass(gone.signal, work("dropped")),
    // Turns of at most 10 ms need no rest: other work runs between them.
    turnstile.pass(signal, work("a", 10, 10, 3_010)),
    turnstile.pass(signal, work("bad", 2_000)),
    turnstile.pass(signal, work("c")),
  ];
  gone.abort();
  const ended = Promise.allSettled(all);
  await clock.advance(60_000);
  expect(await ended).toEqual([
    { status: "rejected", reason: new CallerGone() },
    { status: "fulfilled", value: "a" },
    { status: "rejected", reason: new Error("bad") },
    { status: "fulfilled", value: "c" },
  ]);
  expect(seen).toEqual(["a at 0", "bad at 3000", "c at 5000"]);
});

import { expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { RequestTurns } from "./request-turns.ts";

/** A clock whose turns last until the test ends them. */
function heldTurns() {
  let turnMs = 0;
  const sleepers: (() => void)[] = [];
  return {
    work: (ms: number) => {
      turnMs += ms;
    },
    nextTurn: async () => {
      turnMs = 0;
      for (const wake of sleepers.splice(0)) wake();
      await new Promise((resolve) => setImmediate(resolve));
    },
    clock: {
      turnMs: () => turnMs,
      sleep: () => new Promise<void>((resolve) => sleepers.push(resolve)),
    },
  };
}

it("lets no request through once the turn is over, keeps their order, and lets one through in each turn", async () => {
  const { work, nextTurn, clock } = heldTurns();
  const turns = new RequestTurns(clock);
  const seen: string[] = [];
  const send = (name: string, ms: number) =>
    turns.take(async () => {
      // As in the API server, most of the work comes after the first promise.
      await Promise.resolve();
      seen.push(name);
      work(ms);
      return name;
    });
  await send("a", 6);
  const answers = [send("b", 6), send("c", 30), send("d", 5)];
  await Promise.resolve();
  // The third waits for the second, although the turn was not over when it was sent.
  expect(seen).toEqual(["a", "b"]);
  await nextTurn();
  // Nothing overtakes a request that waits.
  answers.push(send("e", 1), send("f", 1));
  expect(seen).toEqual(["a", "b", "c"]);
  await nextTurn();
  expect(seen).toEqual(["a", "b", "c", "d", "e", "f"]);
  expect(await Promise.all(answers)).toEqual(["b", "c", "d", "e", "f"]);
});

it("waits for no answer beyond a turn: a webhook may send requests itself", async () => {
  const { work, nextTurn, clock } = heldTurns();
  const turns = new RequestTurns(clock);
  work(10);
  const inner = async () => `outer of ${await turns.take(async () => "inner")}`;
  const outer = turns.take(inner);
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  expect(await outer).toBe("outer of inner");
});

it("passes on the failure of a request, and lets later ones through", async () => {
  const { work, nextTurn, clock } = heldTurns();
  const turns = new RequestTurns(clock);
  work(10);
  const failed = turns.take(() => Promise.reject(new Error("refused")));
  const later = turns.take(() => Promise.resolve("answer"));
  const outcome = expect(failed).rejects.toThrow("refused");
  await nextTurn();
  await outcome;
  expect(await later).toBe("answer");
});

it("sends all requests at once on a virtual clock", async () => {
  const turns = new RequestTurns(new VirtualClock(0));
  let sent = 0;
  const all = Array.from({ length: 100 }, () => turns.take(async () => void sent++));
  expect(sent).toBe(100);
  await Promise.all(all);
});

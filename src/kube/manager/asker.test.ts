import { describe, expect, it } from "vitest";
import { Asker } from "./asker.ts";
import type { Request } from "./controller.ts";

function* named(prefix: string, count: number): Iterable<Request | undefined> {
  for (let index = 0; index < count; index++)
    yield index % 2 === 0 ? { kind: "NodeClaim", name: `${prefix}-${index}` } : undefined;
}

function* halfMade(): Iterable<Request | undefined> {
  yield { kind: "NodeClaim", name: "b-0" };
  throw new Error("half made");
}

/** An Asker on a clock on which each step uses up its turn. `next` begins another turn. */
function slowly() {
  const asked: string[] = [];
  const sleepers: (() => void)[] = [];
  const clock = {
    turnMs: () => 1_000,
    sleep: () => new Promise<void>((resolve) => void sleepers.push(resolve)),
  };
  const told: string[] = [];
  const asker = new Asker(
    clock,
    ({ name }) => void asked.push(name),
    (about, failures, error) => void told.push(`${about}: ${failures}, ${String(error)}`),
  );
  const next = async () => {
    sleepers.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { asker, asked, told, next, isAtRest: () => sleepers.length === 0 };
}

describe("queueing very many requests", () => {
  it("is done at once while the turn of the event loop lasts", () => {
    const asked: string[] = [];
    const clock = { turnMs: () => 0, sleep: async () => undefined };
    const told = () => expect.unreachable();
    const asker = new Asker(clock, ({ name }) => void asked.push(name), told);
    asker.ask("a", named("a", 2_000));
    expect(asked).toHaveLength(1_000);
    asker.ask("a", named("a", 2));
    expect(asked).toHaveLength(1_001);
  });

  it("works in steps, and goes on with lists that arrived meanwhile", async () => {
    const { asker, asked, next, isAtRest } = slowly();
    asker.ask("a", named("a", 1_000));
    expect(asked).toHaveLength(128);
    // A list that is being queued is started again. A list that still waits is replaced.
    asker.ask("a", named("a", 4));
    asker.ask("b", named("dropped", 4));
    asker.ask("b", named("b", 4));
    let turns = 0;
    for (; !isAtRest(); turns++) await next();
    expect(turns).toBe(6);
    expect(asked.slice(500)).toEqual(["a-0", "a-2", "b-0", "b-2"]);
    asker.ask("c", named("c", 2));
    expect(asked.at(-1)).toBe("c-0");
  });

  it("queues no more requests after stop", async () => {
    const { asker, asked, next, isAtRest } = slowly();
    asker.ask("a", named("a", 1_000));
    asker.ask("b", named("b", 4));
    asker.stop();
    while (!isAtRest()) await next();
    expect(asked).toHaveLength(128);
  });

  it("continues after items that throw, also in a later step, and reports each list once", async () => {
    const { asker, asked, told, next, isAtRest } = slowly();
    const many = named("a", 1_000)[Symbol.iterator]();
    let looked = 0;
    const broken = {
      next: () => {
        const found = many.next();
        if (++looked === 301 || looked === 303) throw new Error(`bad claim ${looked}`);
        return found;
      },
    };
    asker.ask("a", { [Symbol.iterator]: () => broken });
    asker.ask("b", halfMade());
    asker.ask("c", named("c", 2));
    while (!isAtRest()) await next();
    expect(asked).toHaveLength(500 - 2 + 1 + 1);
    expect(asked.slice(-3)).toEqual(["a-998", "b-0", "c-0"]);
    expect(told).toEqual(["a: 2, Error: bad claim 301", "b: 1, Error: half made"]);
    asker.ask("d", named("d", 1));
    expect(asked.at(-1)).toBe("d-0");
  });
});

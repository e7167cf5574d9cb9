import { expect, it, describe as suite } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { SeveralErrors } from "../errors.ts";
import { LiveMirrors } from "../mirror/mirrors.ts";
import { AWAIT_CHANGE, type Controller, source } from "./controller.ts";
import { createManager, describe } from "./manager.ts";

class CloudError extends Error {
  override readonly name = "CloudError";
  readonly action = "DescribeSubnets";
  readonly code = "Throttling";
}

class StepError extends Error {
  override readonly name = "StepError";
}

suite("the logged text of an error", () => {
  it("has the API call and the error code", () => {
    expect(describe(new CloudError("slow down"))).toBe("DescribeSubnets: Throttling: slow down");
    expect(describe(new CloudError("Throttling: slow down"))).toBe(
      "DescribeSubnets: Throttling: slow down",
    );
  });

  it("ends with the cause, unless the message contains it", () => {
    const cause = new CloudError("slow down");
    expect(describe(new StepError("launching", { cause }))).toBe(
      "launching: DescribeSubnets: Throttling: slow down",
    );
    expect(describe(new StepError("launching, slow down", { cause }))).toBe("launching, slow down");
  });

  it("has each text of several errors once, and the first five", () => {
    const of = (...texts: readonly string[]) =>
      describe(new SeveralErrors(texts.map((text) => new StepError(text))));
    expect(of("a", "b", "a")).toBe("a; b");
    expect(of(..."abcdefg")).toBe("a; b; c; d; e; and 2 more errors");
  });

  it("has the stack trace of a TypeError", () => {
    expect(describe(new StepError("launching", { cause: new TypeError("x") }))).toMatch(
      /^launching: TypeError: x\n {4}at /,
    );
    expect(describe("odd")).toBe("odd");
  });
});

suite("the start of the manager on a large cluster", () => {
  it("runs in steps, and reconciles nothing before all controllers have all objects", async () => {
    const clock = new VirtualClock();
    let turns = 0;
    // A clock on which each step uses up its turn of the event loop.
    const hurried = {
      now: () => clock.now(),
      elapsedMs: () => clock.elapsedMs(),
      after: clock.after.bind(clock),
      turnMs: () => 1_000,
      sleep: (ms: number) => {
        turns++;
        return clock.sleep(ms);
      },
    };
    const api = fakeKube(clock);
    for (let index = 0; index < 300; index++)
      await api.create(NODE, { metadata: { name: `n-${index}` } });
    const random = new Random("start");
    const mirrors = new LiveMirrors({ client: api, clock: hurried, random, log: SILENT });
    const manager = createManager({ mirrors, clock: hurried, random, log: SILENT });
    const told = { first: 0, second: 0 };
    const toldWhenWorking: number[] = [];
    const worked = new Set<string>();
    const watching = (name: "first" | "second"): Controller => ({
      name,
      concurrency: 10,
      watches: [
        source(NODE, ({ metadata }) => {
          told[name]++;
          return [{ kind: "Node", name: metadata.name }];
        }),
      ],
      reconcile: async (request) => {
        worked.add(`${name} ${request.name}`);
        toldWhenWorking.push(told.first + told.second);
        return AWAIT_CHANGE;
      },
    });
    manager.add(watching("first"));
    manager.add(watching("second"));
    const started = manager.start();
    await clock.advance(1);
    await started;
    // Three lists, each read in steps of 64 objects.
    expect(turns).toBeGreaterThanOrEqual(3 * 4);
    await clock.advance(1_000);
    expect(told).toEqual({ first: 300, second: 300 });
    expect(Math.min(...toldWhenWorking)).toBe(600);
    expect(worked.size).toBe(600);
    await manager.stop();
    mirrors.close();
  });
});

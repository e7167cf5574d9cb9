/** A machine's clock may be set back while the controller runs: nothing waits for the hour to come by again. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SystemClock } from "../base/system-clock.ts";
import { AWAIT_CHANGE } from "./manager/controller.ts";
import { WorkQueue } from "./manager/work-queue.ts";
import { rateLimited } from "./transport/rate-limit.ts";

const HOUR_MS = 3_600_000;

describe("once the machine's clock is set back by an hour", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());
  const setBack = () => vi.setSystemTime(Date.now() - HOUR_MS);

  it("a queue looks at its items when it was to", async () => {
    const clock = new SystemClock();
    const seen: string[] = [];
    const queue = new WorkQueue<string>({
      clock,
      keyOf: (item) => item,
      concurrency: 1,
      work: async (item) => {
        seen.push(item);
        return AWAIT_CHANGE;
      },
      onError: () => "never",
      backoffMs: { base: 1, max: 1 },
    });
    queue.addAfter("first", 20);
    queue.addAfter("second", 40);
    setBack();
    queue.addAfter("third", 60);
    await vi.waitFor(() => expect(seen).toEqual(["first", "second", "third"]), 2_000);
    await queue.stop();
  });

  it("requests wait no longer for their turn", async () => {
    const answer = { status: 200, headers: {}, body: {} };
    const transport = { send: async () => answer, close: () => undefined };
    const limited = rateLimited(transport as never, new SystemClock(), {
      perSecond: 100,
      burst: 1,
    });
    const request = { method: "GET", path: "/" } as const;
    await limited.send(request);
    setBack();
    const sent = vi.fn();
    void limited.send(request).then(sent);
    await vi.waitFor(() => expect(sent).toHaveBeenCalled(), 2_000);
  });
});

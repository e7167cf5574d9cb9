import { describe, expect, it } from "vitest";
import { testPod } from "../testing/objects.ts";
import { podInfo } from "./pod-info.ts";
import { SchedulingQueue, type Waiting } from "./queue.ts";

function info(name: string, priority = 0) {
  return podInfo(testPod(name, { priority }));
}

function pop(queue: SchedulingQueue, nowMs: number): string | undefined {
  return queue.pop(nowMs)?.pod.pod.metadata.name;
}

describe("the scheduling queue", () => {
  it("returns pods by priority, then by age, then by name", () => {
    const queue = new SchedulingQueue();
    queue.add(info("late"), 2);
    queue.add(info("b"), 1);
    queue.add(info("a"), 1);
    queue.add(info("urgent", 10), 3);
    expect([1, 2, 3, 4, 5].map(() => pop(queue, 3))).toEqual([
      "urgent",
      "a",
      "b",
      "late",
      undefined,
    ]);
  });

  it("retries pods in the order of their attempts", () => {
    const queue = new SchedulingQueue();
    const tryAll = (nowMs: number): string[] => {
      const tried: string[] = [];
      for (let next = queue.pop(nowMs); next !== undefined; next = queue.pop(nowMs)) {
        tried.push(next.pod.pod.metadata.name);
        queue.giveUp(next, new Set(), nowMs);
      }
      return tried;
    };
    queue.add(info("z"), 0);
    expect(tryAll(0)).toEqual(["z"]);
    queue.add(info("a"), 0);
    expect(tryAll(0)).toEqual(["a"]);
    queue.add(info("new"), 5_000);
    queue.wake(() => true, 10_000);
    expect(tryAll(10_000)).toEqual(["z", "a", "new"]);
    queue.wake(() => true, 20_000);
    queue.add(info("urgent", 10), 20_000);
    expect(tryAll(20_000)).toEqual(["urgent", "z", "a", "new"]);
  });

  it("keeps a pod that fits nowhere until a change may help, and then for its backoff", () => {
    const queue = new SchedulingQueue();
    queue.add(info("p"), 0);
    queue.giveUp(queue.pop(0) as Waiting, new Set(["NodeResourcesFit"]), 0);
    queue.wake(() => false, 100);
    expect(pop(queue, 5_000)).toBeUndefined();
    queue.wake(({ rejectedBy }) => rejectedBy.has("NodeResourcesFit"), 100);
    expect(pop(queue, 999)).toBeUndefined();
    expect(queue.nextDueMs()).toBe(1_000);
    const again = queue.pop(1_000) as Waiting;
    queue.giveUp(again, new Set(), 1_000);
    queue.wake(() => true, 1_500);
    expect(queue.nextDueMs()).toBe(3_000);
  });

  it("retries every pod after five minutes", () => {
    const queue = new SchedulingQueue();
    queue.add(info("p"), 0);
    queue.giveUp(queue.pop(0) as Waiting, new Set(), 0);
    expect(queue.nextDueMs()).toBe(300_000);
    expect(pop(queue, 299_999)).toBeUndefined();
    expect(pop(queue, 300_000)).toBe("p");
  });

  it("drops a deleted pod from every part of the queue", () => {
    const queue = new SchedulingQueue();
    queue.add(info("p"), 0);
    queue.remove("default/p");
    expect(pop(queue, 0)).toBeUndefined();
    expect(queue.size).toBe(0);
  });
});

import { describe, expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { atOnce } from "../../../base/steps.ts";
import { pod } from "../../../testing/builders.ts";
import type { PodClass } from "./pod-class.ts";
import { inOrder, inOrderInSteps, Queue, type QueuedPod } from "./queue.ts";

const classes = ["a", "b", "c"].map((id) => ({ id, requests: {} }) as unknown as PodClass);

function item(name: string, podClass = classes[0] as PodClass, priority = 0): QueuedPod {
  return { pod: pod({ name, spec: { priority } }), podClass };
}

const names = (items: readonly QueuedPod[]) => items.map((one) => one.pod.metadata.name);

describe("the queue of a batch", () => {
  it("returns each pod, and those put back again as long as others are placed", () => {
    const random = new Random("queue");
    for (let round = 0; round < 100; round++) {
      const count = random.int(7);
      const all = Array.from({ length: count }, (_, at) =>
        item(`p${at}`, classes[random.int(3)] as PodClass),
      );
      // For each pod: the number of the try at which it is placed. Pods with a high number are never placed.
      const fits = new Map(all.map((one) => [one, random.int(5)]));
      const queue = new Queue(all);
      // A simple model of the queue with one list: a pod that is put back goes to the end.
      const model = { items: [...all], inVain: 0 };
      const tries = new Map<QueuedPod, number>();
      for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
        expect(one).toBe(model.items.shift());
        const tried = (tries.get(one) ?? 0) + 1;
        tries.set(one, tried);
        if (tried > (fits.get(one) ?? 0)) model.inVain = 0;
        else {
          queue.giveBack(one);
          model.items.push(one);
          model.inVain++;
        }
        expect(queue.rest().length).toBe(model.items.length);
      }
      // The queue ends when all pods are placed, or when a full round placed none.
      expect(model.items.length === 0 || model.inVain >= model.items.length).toBe(true);
      expect(names(queue.rest())).toEqual(names(model.items));
    }
  });

  it("skips pod classes for which nothing has changed", () => {
    const [a, b] = [item("a", classes[0]), item("b", classes[1])];
    const queue = new Queue([a, b]);
    queue.giveBack(queue.pop() as QueuedPod);
    expect(queue.pop()).toBe(b);
    // After the pod of b is placed, a could be tried again, but the class of a is stuck.
    expect(queue.pop((podClass) => podClass === classes[0])).toBeUndefined();
    expect(names(queue.rest())).toEqual(["a"]);
  });

  it("tries early pods before all others, and again after each placement", () => {
    const early = classes[1] as PodClass;
    const all = [item("a"), item("b"), item("x", early), item("c"), item("y", early)];
    const queue = new Queue(all, { isEarly: (podClass) => podClass === early });
    const tried: string[] = [];
    for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
      const { name } = one.pod.metadata;
      tried.push(name);
      // Early pods find a place after b only; c never finds one.
      const isPlaced = one.podClass === early ? tried.includes("b") : name !== "c";
      if (!isPlaced) queue.giveBack(one);
    }
    expect(tried).toEqual(["x", "y", "a", "x", "y", "b", "x", "y", "c"]);
    expect(names(queue.rest())).toEqual(["c"]);
  });

  it("orders pods by priority if configured", () => {
    const all = [
      item("low", classes[0], -1),
      item("high", classes[0], 5),
      item("none"),
      item("too"),
    ];
    const order = (importantFirst: boolean) => names(new Queue(all, { importantFirst }).rest());
    expect(order(false)).toEqual(["low", "high", "none", "too"]);
    expect(order(true)).toEqual(["high", "none", "too", "low"]);
  });
});

describe("the order of pods", () => {
  it("is by cpu, memory, age, UID and name, whatever their number and their order before", () => {
    const random = new Random("order");
    const amounts = [{}, { cpu: 1 }, { cpu: 2 }, { cpu: 2, memory: 1 }, { cpu: 2, memory: 3 }];
    const sized = amounts.map((requests) => ({ requests }) as unknown as PodClass);
    for (const count of [0, 1, 64, 65]) {
      const all = Array.from({ length: count }, (_, at): QueuedPod => {
        const one = pod({ name: `p${String(at).padStart(3, "0")}` });
        const created =
          random.int(2) === 0 ? {} : { creationTimestamp: `2026-01-0${1 + random.int(2)}` };
        const { uid: _uid, creationTimestamp: _created, ...metadata } = one.metadata;
        const uid = random.int(3) === 0 ? {} : { uid: `u${random.int(4)}` };
        return {
          pod: { ...one, metadata: { ...metadata, ...created, ...uid } },
          podClass: sized[random.int(sized.length)] as PodClass,
        };
      });
      const key = ({ pod: { metadata }, podClass: { requests } }: QueuedPod) => [
        ...[9 - (requests["cpu"] ?? 0), 9 - (requests["memory"] ?? 0)],
        ...[metadata.creationTimestamp ?? "", metadata.uid ?? "", metadata.name],
      ];
      const wanted = all.toSorted((a, b) => (`${key(a)}` < `${key(b)}` ? -1 : 1));
      const mixed = all.toSorted(() => random.int(3) - 1);
      expect(names(inOrder(mixed))).toEqual(names(wanted));
      expect(names(atOnce(inOrderInSteps(mixed)))).toEqual(names(wanted));
    }
  });
});

// What the loop reads in its first round, when no other code has read the cluster.
import { expect, it } from "vitest";
import { Ledger } from "../../core/disruption/ledger.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import type { World } from "../world.ts";
import { Backoff } from "./backoff.ts";
import type { CommandQueue } from "./command-queue.ts";
import { disruption } from "./controller.ts";

it("the first disruption round applies cluster state changes in steps before it reads all nodes", async () => {
  const world = fakeWorld();
  const asked: string[] = [];
  const cluster = new Proxy(world.cluster, {
    get: (target, key) => {
      const found = Reflect.get(target, key, target) as unknown;
      if (typeof found !== "function") return found;
      asked.push(String(key));
      return found.bind(target);
    },
  });
  const queue = {
    nodeNames: new Set(),
    isRunning: () => false,
    backoff: new Backoff(),
    ledger: new Ledger(world.settings.restraint),
  } as unknown as CommandQueue;
  const loop = disruption({ ...world, cluster } as World, queue);
  await loop.reconcile({ kind: "", name: "disruption" });
  const reads = asked.filter((key) => key === "catchUp" || key === "nodes" || key === "poolUsage");
  expect(reads[0]).toBe("catchUp");
  expect(reads).toContain("nodes");
});

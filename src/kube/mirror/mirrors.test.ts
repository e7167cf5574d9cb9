import { expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { node } from "../../testing/builders.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import type { KubeClient, Watch } from "../client/client.ts";
import { LiveMirrors } from "./mirrors.ts";

const quiet = () => undefined;
const log = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  with: () => log,
  named: () => log,
};

it("takes the answer to an own deletion, even if the watch delivers no event of it", async () => {
  const clock = new VirtualClock();
  const api = fakeKube(clock);
  for (const name of ["held", "free"]) {
    const finalizers = name === "held" ? ["example.com/held"] : [];
    const one = node({ name });
    await api.create(NODE, { ...one, metadata: { ...one.metadata, finalizers } });
  }
  const remove: KubeClient["delete"] = async (kind, ref, options) => {
    await api.delete(kind, ref, options);
    return api.find(kind, ref.name) ?? { kind: "Status", metadata: {}, status: "Success" };
  };
  const client = { ...api, watch: async () => silentWatch(), delete: remove };
  const random = new Random("mirrors");
  const mirrors = new LiveMirrors({ client, clock, random, log, trustsFirstLists: true });
  const nodes = mirrors.of(NODE);
  await clock.settle();
  for (const name of ["held", "free"]) await mirrors.client.delete(NODE, { name });
  expect(nodes.get("held")?.metadata.deletionTimestamp).toBeDefined();
  expect(nodes.get("free")?.metadata.deletionTimestamp).toBeUndefined();
  mirrors.close();
});

function silentWatch(): Watch<never> {
  let end = quiet;
  const ended = new Promise<void>((resolve) => {
    end = () => void resolve();
  });
  return {
    close: () => end(),
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        await ended;
        return { done: true, value: undefined };
      },
    }),
  };
}

import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../apis/core/node.ts";
import type { Kind } from "../../apis/meta.ts";
import { SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { filterInSteps } from "../../base/steps.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { KubeClient, KubeList, ListOptions, ReadPage, WatchEvent } from "../client/client.ts";
import { KubeError } from "../errors.ts";
import { type Copy, CopyCheck } from "./check-copy.ts";
import { LiveMirrors } from "./mirrors.ts";

const HOUR = 3_600_000;
const WATCH_MS = 300_000;

function node(name: string, version: number, uid = name): Node {
  return { metadata: { name, uid, resourceVersion: String(version) } };
}

/** A server with these nodes. Its watches last five minutes and deliver the events of `bring`. */
function world(first: readonly Node[], listed?: readonly Node[]) {
  const clock = new VirtualClock();
  const server = {
    nodes: first,
    version: 10,
    /** The answer to a list of the whole kind. Undefined: the existing nodes. */
    listed: listed as readonly Node[] | Error | undefined,
    listMs: 0,
    lists: [] as string[],
    watchedFrom: [] as string[],
    bring: [] as WatchEvent<Node>[],
    /** The version of the bookmark at the end of each watch. Undefined: that with which the watch begins. */
    bookmark: undefined as string | undefined,
    /** The objects with which a watch without a version begins. */
    state: [] as readonly Node[],
    /** Answers such a watch instead. */
    openState: undefined as (() => Promise<unknown>) | undefined,
  };
  const client = {
    list: async (
      _: unknown,
      { fieldSelector, keep = (one: Node) => one }: ListOptions & { keep?: (one: Node) => Node },
    ): Promise<KubeList<Node>> => {
      server.lists.push(fieldSelector ?? "all");
      const name = fieldSelector?.replace("metadata.name=", "");
      if (name === undefined && server.listMs > 0) await clock.sleep(server.listMs);
      const found = name === undefined ? (server.listed ?? server.nodes) : server.nodes;
      if (found instanceof Error) throw found;
      const items = found.filter(({ metadata }) => name === undefined || metadata.name === name);
      return { items: items.map(keep), resourceVersion: String(server.version), kept: true };
    },
    watch: async (_: unknown, { resourceVersion }: { resourceVersion: string }) => {
      const isState = resourceVersion === "";
      if (isState && server.openState !== undefined) return server.openState();
      if (!isState) server.watchedFrom.push(resourceVersion);
      const events = isState
        ? server.state.map((object) => ({ type: "ADDED", object }))
        : server.bring.splice(0);
      return {
        close: () => undefined,
        async *[Symbol.asyncIterator]() {
          yield* events;
          // The bookmark prevents the watch from counting as silent.
          const version = server.bookmark ?? resourceVersion;
          yield { type: "BOOKMARK", object: { metadata: { name: "", resourceVersion: version } } };
          await clock.sleep(WATCH_MS);
        },
      };
    },
  } as unknown as KubeClient;
  const told: unknown[] = [];
  const log = {
    ...SILENT,
    named: () => log,
    warn: (_: string, fields?: object) => void told.push(fields),
  };
  const mirrors = new LiveMirrors({ client, clock, random: new Random(1), log });
  const mirror = mirrors.of(NODE);
  const names = () =>
    mirror.list().map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
  const doubt = () => mirrors.doubt(NODE as Kind);
  return { clock, server, mirror, names, told, doubt, stop: () => mirrors.close() };
}

describe("an informer's copy that differs from the server's objects", () => {
  it("gets objects that a list lacked, and drops deleted ones, within the hour", async () => {
    const { clock, server, names, told, stop } = world(
      [node("a", 1), node("b", 2), node("d", 3)],
      [node("a", 1), node("c", 4), node("d", 2)],
    );
    await clock.settle();
    expect(names()).toEqual(["a@1", "c@4", "d@2"]);
    server.listed = undefined;
    await clock.advance(HOUR + 2 * WATCH_MS);
    expect(names()).toEqual(["a@1", "b@2", "d@3"]);
    expect(told).toEqual([{ kind: "Node", missed: 2, gone: 1 }]);
    // The watch continues at its last version, so no event is lost.
    expect(new Set(server.watchedFrom)).toEqual(new Set(["10"]));
    stop();
  });

  it("gets an object as the server has it, although an event told a later version of it", async () => {
    const { clock, server, names, told, stop } = world([node("a", 1), node("b", 2)]);
    await clock.settle();
    server.version = 30;
    server.bookmark = "30";
    server.bring.push({ type: "MODIFIED", object: node("a", 20) });
    server.bring.push({ type: "MODIFIED", object: node("b", 25) });
    server.nodes = [node("a", 1), node("b", 25)];
    await clock.advance(2 * WATCH_MS);
    expect(names()).toEqual(["a@20", "b@25"]);
    await clock.advance(HOUR + 2 * WATCH_MS);
    expect([names(), told]).toEqual([["a@1", "b@25"], [{ kind: "Node", missed: 1, gone: 0 }]]);
    stop();
  });

  it("takes in no first list that lacks what a watch brings and the server has by name", async () => {
    for (const listed of [[], [node("c", 9)]]) {
      const all = [node("a", 1), node("b", 2), node("c", 9)];
      const { clock, server, mirror, names, stop } = world(all, listed);
      server.state = all;
      await clock.advance(5 * 60_000);
      expect([mirror.synced, names(), server.lists.length > 5]).toEqual([false, [], true]);
      server.listed = undefined;
      await clock.advance(60_000);
      expect([mirror.synced, names()]).toEqual([true, ["a@1", "b@2", "c@9"]]);
      stop();
    }
  });

  it("takes in a first list that lacks an object that is gone, or is newer than the list", async () => {
    const { clock, server, mirror, names, stop } = world([node("a", 1), node("new", 11)], []);
    server.state = [node("gone", 2), node("new", 11)];
    await clock.settle();
    expect([mirror.synced, names()]).toEqual([true, []]);
    stop();
  });

  it("takes in a first list soon although the objects change all the time", async () => {
    const { clock, server, mirror, stop } = world([node("a", 1)]);
    server.openState = async () => ({
      close: () => undefined,
      async *[Symbol.asyncIterator]() {
        yield { type: "ADDED", object: node("a", 1) };
        for (let version = 11; ; version++) {
          await clock.sleep(300);
          yield { type: "MODIFIED", object: node("a", version) };
        }
      },
    });
    await clock.advance(1_000);
    expect(mirror.synced).toBe(true);
    stop();
  });

  it("takes in a first list if objects are created all the time, or no watch opens", async () => {
    for (const isOpen of [true, false]) {
      const { clock, server, names, stop } = world([node("a", 1)]);
      let closed = 0;
      server.openState = async () => {
        if (!isOpen) await clock.sleep(60_000);
        return {
          close: () => closed++,
          async *[Symbol.asyncIterator]() {
            for (let version = 11; ; version++) {
              await clock.sleep(300);
              yield { type: "ADDED", object: node(`new-${version}`, version) };
            }
          },
        };
      };
      await clock.advance(11_000);
      expect(names()).toEqual(["a@1"]);
      await clock.advance(60_000);
      expect(closed).toBe(1);
      stop();
    }
  });

  it("takes in a first list without the right to watch", async () => {
    const { clock, server, names, stop } = world([node("a", 1)]);
    server.openState = async () => {
      throw new KubeError(403, { code: 403, reason: "Forbidden" }, "watching nodes");
    };
    await clock.settle();
    expect(names()).toEqual(["a@1"]);
    stop();
  });

  it("gets all objects within two watches if the first list was empty", async () => {
    const { clock, server, names, told, stop } = world([node("a", 1), node("b", 2)], []);
    await clock.settle();
    expect(names()).toEqual([]);
    await clock.advance(WATCH_MS + 1_000);
    server.listed = undefined;
    await clock.advance(2 * WATCH_MS);
    expect(names()).toEqual(["a@1", "b@2"]);
    expect(told).toEqual([{ kind: "Node", missed: 2, gone: 0 }]);
    stop();
  });

  it("keeps an object that only the new list lacks, if the server has it by name", async () => {
    const { clock, server, names, told, stop } = world([node("a", 1), node("b", 2)]);
    await clock.settle();
    server.listed = [node("a", 1)];
    await clock.advance(HOUR + 2 * WATCH_MS);
    expect(server.lists).toEqual(["all", "all", "metadata.name=b"]);
    expect(names()).toEqual(["a@1", "b@2"]);
    expect(told).toEqual([]);
    stop();
  });

  it("leaves objects newer than the watch's version to the watch", async () => {
    const { clock, server, names, told, stop } = world([node("a", 1)]);
    await clock.settle();
    server.nodes = [node("a", 11), node("b", 12)];
    server.version = 12;
    await clock.advance(HOUR + 2 * WATCH_MS);
    expect(server.lists).toEqual(["all", "all"]);
    expect(names()).toEqual(["a@1"]);
    expect(told).toEqual([]);
    stop();
  });

  it.each([
    ["an older list", 9, []],
    ["a failed list", 10, new KubeError(500, { code: 500 }, "listing")],
    ["an expired list", 10, new KubeError(410, { code: 410 }, "listing")],
  ])("stays unchanged after %s, and is still watched", async (_, version, listed) => {
    const { clock, server, names, stop } = world([node("a", 1)]);
    await clock.settle();
    Object.assign(server, { version, listed });
    await clock.advance(HOUR + 2 * WATCH_MS);
    const watches = server.watchedFrom.length;
    await clock.advance(HOUR);
    expect(server.lists.length).toBeGreaterThan(1);
    expect(server.watchedFrom.length).toBeGreaterThan(watches + 5);
    expect(names()).toEqual(["a@1"]);
    stop();
  });

  it("is compared within ten minutes once a read contradicts it, and not again for five", async () => {
    const { clock, server, names, doubt, stop } = world([node("a", 1)]);
    await clock.advance(10 * 60_000);
    server.nodes = [node("a", 1), node("b", 5)];
    await clock.advance(20 * 60_000);
    expect(names()).toEqual(["a@1"]);
    doubt();
    await clock.advance(2 * WATCH_MS);
    expect(names()).toEqual(["a@1", "b@5"]);
    const lists = server.lists.length;
    for (let times = 0; times < 8; times++) {
      doubt();
      await clock.advance(WATCH_MS / 2);
    }
    expect(server.lists.length - lists).toBeLessThanOrEqual(4);
    stop();
  });

  it("is compared less often if listing takes longer", async () => {
    const { clock, server, stop } = world([node("a", 1)]);
    await clock.settle();
    server.listMs = 60_000;
    await clock.advance(9 * HOUR);
    expect(server.lists).toEqual(["all", "all"]);
    await clock.advance(HOUR);
    expect(server.lists).toEqual(["all", "all", "all"]);
    stop();
  });
});

describe("a comparison of an informer's copy", () => {
  it("lists in protobuf, adopts missed objects, and keeps only names of the others", async () => {
    const [known, missed] = [node("a", 1), { ...node("b", 2), status: { phase: "new" } } as Node];
    const healed: unknown[] = [];
    const asked: KubeList<Node>[] = [];
    const copy: Copy<Node> = {
      keep: () => {
        throw new Error("it is reduced already");
      },
      lacks: ({ metadata }) => metadata.name === "b",
      notIn: () => filterInSteps([], 1, () => true),
      removedBy: () => filterInSteps([], 1, () => true),
      heal: (difference) => void healed.push(difference),
    };
    const list = async (_: unknown, { readPage }: { readPage?: ReadPage<Node> }) => {
      const { items } = (readPage as ReadPage<Node>)(new Uint8Array());
      asked.push({ items, resourceVersion: "10" });
      return { items, resourceVersion: "10" };
    };
    const check = new CopyCheck<Node>({
      client: { list } as unknown as KubeClient,
      clock: new VirtualClock(),
      log: SILENT,
      kind: NODE,
      selection: {},
      copy,
      readPage: () => ({ items: [known, missed], metadata: { resourceVersion: "10" } }),
    });
    await check.run(10, () => true);
    expect(healed).toEqual([{ missed: [missed], gone: [] }]);
    expect(asked[0]?.items).toEqual([{ metadata: { name: "a" } }, { metadata: { name: "b" } }]);
  });
});

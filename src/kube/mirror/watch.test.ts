import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import type { Clock } from "../../base/clock.ts";
import { type Logger, SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import type { KubeClient, Watch, WatchEvent } from "../client/client.ts";
import { ConnectionError, KubeError } from "../errors.ts";
import { AWAIT_CHANGE, type Request, source } from "../manager/controller.ts";
import { createManager } from "../manager/manager.ts";
import type { ViewState } from "./mirror.ts";
import { LiveMirrors } from "./mirrors.ts";
import { type ReflectOptions, reflect } from "./watch.ts";

type Script = readonly (WatchEvent<Node> | Error)[];

function node(name: string, version: number): Node {
  return { metadata: { name, uid: name, resourceVersion: String(version) } };
}

/** A server that follows a script: the answer to each list, and the events of each watch until it ends. */
function scripted(lists: readonly (readonly Node[] | Error)[], watches: readonly Script[]) {
  const calls: string[] = [];
  let listed = 0;
  let watched = 0;
  const client = {
    list: async (_kind: unknown, { fieldSelector }: { fieldSelector?: string }) => {
      if (fieldSelector !== undefined) {
        calls.push("look");
        return { items: [], resourceVersion: "1000" };
      }
      calls.push("list");
      const answer = lists[Math.min(listed++, lists.length - 1)] as readonly Node[] | Error;
      if (answer instanceof Error) throw answer;
      const newest = Math.max(0, ...answer.map((item) => Number(item.metadata.resourceVersion)));
      return { items: answer, resourceVersion: String(newest) };
    },
    watch: confirming(async (resourceVersion) => {
      calls.push(`watch ${resourceVersion}`);
      return play(watches[watched++]);
    }),
  } as unknown as KubeClient;
  return { client, calls };
}

/**
 * A watch without a version confirms the first list of an informer: it brings a bookmark and no object. Other watches
 * are answered by `open`.
 */
function confirming(open: (resourceVersion: string) => Promise<Watch<Node>>) {
  return (_kind: unknown, { resourceVersion }: { resourceVersion: string }) =>
    resourceVersion === "" ? Promise.resolve(play([bookmark(0)])) : open(resourceVersion);
}

function play(script: Script | undefined): Watch<Node> {
  let close: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  return {
    close,
    async *[Symbol.asyncIterator]() {
      for (const step of script ?? []) {
        if (step instanceof Error) throw step;
        yield step;
      }
      // A watch that is not in the script is not ended and delivers nothing.
      if (script === undefined) await closed;
    },
  };
}

function follow(server: ReturnType<typeof scripted>, more: Partial<ReflectOptions<Node>> = {}) {
  const clock = new VirtualClock();
  const told: string[] = [];
  const tell = (message: string, fields?: object): void => {
    told.push(`${message}: ${(fields as { remedy?: string } | undefined)?.remedy}`);
  };
  const seen: string[] = [];
  const states: ViewState[] = [];
  const loop = reflect<Node>({
    client: server.client,
    clock,
    random: new Random(1),
    log: { ...SILENT, warn: tell, error: tell },
    kind: NODE,
    onList: ({ items }) => seen.push(`list of ${items.length}`),
    onEvent: ({ type, object }) => seen.push(`${type} ${object.metadata.name}`),
    onState: (state) => states.push(state),
    ...more,
  });
  return { clock, loop, seen, states, told, stop: () => loop.close() };
}

const added = (name: string, version: number): WatchEvent<Node> => ({
  type: "ADDED",
  object: node(name, version),
});
const bookmark = (version: number): WatchEvent<Node> => ({
  type: "BOOKMARK",
  object: node("", version),
});

describe("an informer's list that is older than an event before it", () => {
  const gone = () => new KubeError(410, { code: 410, reason: "Expired" }, "watching");

  it(`makes the view "setBack" until the server's version has caught up`, async () => {
    const server = scripted(
      [[node("a", 5)], [node("a", 8)]],
      [[added("b", 20), gone()], [bookmark(19)], [bookmark(20)]],
    );
    const { clock, states, told, stop } = follow(server);
    await clock.settle();
    expect(states).toEqual([
      "current",
      "behind",
      "setBack",
      "behind",
      "setBack",
      "current",
      "behind",
      "current",
    ]);
    expect(told.join()).toContain("list is older than what was seen before");
    stop();
  });

  it("is requested when the server's version on a silent watch went back, and not otherwise", async () => {
    let version = 8;
    const asked: string[] = [];
    const client = {
      list: async (_: unknown, { fieldSelector }: { fieldSelector?: string }) => {
        asked.push(fieldSelector ?? "all");
        const items = fieldSelector === undefined ? [node("a", 5)] : [];
        return { items, resourceVersion: String(version) };
      },
      watch: async () => play(undefined),
    } as unknown as KubeClient;
    const { clock, seen, states, stop } = follow({ client, calls: asked });
    await clock.advance(80_000);
    expect(asked).toEqual(["all", "metadata.name=none"]);
    version = 5;
    await clock.advance(80_000);
    expect(asked).toEqual(["all", "metadata.name=none", "metadata.name=none", "all"]);
    expect(seen).toEqual(["list of 1", "list of 1"]);
    expect(states.at(-1)).toBe("setBack");
    stop();
  });

  it("is checked for with the field selector of the watch", async () => {
    const asked: (string | undefined)[] = [];
    const client = {
      list: async (_: unknown, { fieldSelector }: { fieldSelector?: string }) => {
        asked.push(fieldSelector);
        return { items: [node("a", 5)], resourceVersion: "8" };
      },
      watch: async () => play(undefined),
    } as unknown as KubeClient;
    const fieldSelector = "metadata.name=a";
    const { clock, stop } = follow({ client, calls: [] }, { fieldSelector });
    await clock.advance(80_000);
    expect(asked).toEqual([fieldSelector, fieldSelector]);
    stop();
  });
});

describe("the list and watch of an informer", () => {
  it("resumes a watch from its last event or bookmark, without listing again", async () => {
    const server = scripted([[node("a", 5)]], [[added("b", 7), bookmark(20)], []]);
    const { clock, seen, stop } = follow(server);
    await clock.settle();
    expect(seen).toEqual(["list of 1", "ADDED b"]);
    expect(server.calls).toEqual(["list", "watch 5", "watch 20"]);
    // The second watch ended at once and without an event, so the third one begins after a wait.
    await clock.advance(1_600);
    expect(server.calls).toEqual(["list", "watch 5", "watch 20", "watch 20"]);
    stop();
  });

  it("resumes a watch after a broken connection, with a growing backoff", async () => {
    const cut = [new ConnectionError("reset")];
    const server = scripted([[node("a", 5)]], [cut, cut, cut]);
    const { clock, stop } = follow(server);
    await clock.settle();
    expect(server.calls).toEqual(["list", "watch 5"]);
    await clock.advance(1_600);
    expect(server.calls).toHaveLength(3);
    await clock.advance(1_600);
    // The second wait is at least 1.6 s, the third at least 3.2 s.
    await clock.advance(1_600);
    expect(server.calls).toHaveLength(4);
    await clock.advance(6_400);
    expect(server.calls.filter((call) => call === "list")).toHaveLength(1);
    expect(server.calls).toHaveLength(5);
    stop();
  });

  it("lists again when the version has expired, whether the response or an ERROR event says so", async () => {
    const gone = new KubeError(410, { code: 410, reason: "Expired" }, "watching");
    const told = {
      type: "ERROR",
      object: { code: 410, reason: "Expired" },
    } as unknown as WatchEvent<Node>;
    const server = scripted(
      [[node("a", 5)], [node("a", 9)], [node("a", 12)]],
      [[gone], [added("b", 10), told]],
    );
    const { clock, seen, stop } = follow(server);
    await clock.advance(60_000);
    expect(seen).toEqual(["list of 1", "list of 1", "ADDED b", "list of 1"]);
    expect(server.calls.at(-1)).toBe("watch 12");
    stop();
  });

  it("lists at once when the version has expired after other failures, and waits when it expires again", async () => {
    const away = new ConnectionError("refused");
    const gone = new KubeError(410, { code: 410, reason: "Expired" }, "watching");
    const watches = [[away], [away], [away], [gone], [gone], [gone]];
    const server = scripted([[node("a", 1)]], watches);
    const { clock, stop } = follow(server);
    await clock.advance(20_000);
    const lists = () => server.calls.filter((call) => call === "list").length;
    // The waits after three failures take at most 12 s. The first 410 adds no wait, and each later
    // one adds a second or two.
    expect(lists()).toBe(4);
    expect(server.calls.at(-1)).toBe("watch 1");
    stop();
  });

  it("treats a kind that is not served as empty, and lists it again after 30 seconds", async () => {
    const unserved = new KubeError(404, { code: 404, reason: "NotFound" }, "listing");
    const server = scripted([unserved, [node("a", 5)]], []);
    const { clock, seen, stop } = follow(server);
    await clock.advance(29_000);
    expect(seen).toEqual(["list of 0"]);
    await clock.advance(2_000);
    expect(seen).toEqual(["list of 0", "list of 1"]);
    stop();
  });

  it("lists a kind missing from a served group every 5 minutes, and soon after lookAgain()", async () => {
    const unserved = new KubeError(404, { code: 404, reason: "NotFound" }, "listing");
    const server = scripted([unserved], []);
    const { clock, loop, stop } = follow(server, { groupIsServed: () => true });
    await clock.advance(1_000_000);
    // Lists are requested after 0, 30, 90, 210, 450 and 750 s.
    expect(server.calls).toHaveLength(6);
    loop.lookAgain();
    await clock.advance(70_000);
    expect(server.calls).toHaveLength(8);
    stop();
  });

  describe("a kind that is no longer served", () => {
    const unserved = new KubeError(404, { code: 404, reason: "NotFound" }, "listing");
    const away = new ConnectionError("refused");
    const forbidden = new KubeError(403, { code: 403, reason: "Forbidden" }, "getting");
    const noObject = { code: 404, reason: "NotFound", details: { name: "widgets.example.com" } };
    const gone = new KubeError(404, noObject, "getting");
    const CUSTOM = { ...NODE, group: "example.com", kind: "Widget", plural: "widgets" };

    /** Watches a custom kind. `definition`: the answer to reading its CustomResourceDefinition. */
    function followCustom(
      lists: Parameters<typeof scripted>[0],
      watches: Parameters<typeof scripted>[1],
      definition: unknown,
    ) {
      const server = scripted(lists, watches);
      const get = async () => {
        if (definition instanceof Error) throw definition;
        return definition as never;
      };
      const client = { ...server.client, get } as KubeClient;
      return follow({ ...server, client }, { kind: CUSTOM });
    }

    it("keeps its objects while its CustomResourceDefinition exists or is unreadable, or if it is built in", async () => {
      for (const definition of [{ metadata: { name: "widgets.example.com" } }, forbidden, away]) {
        const { clock, seen, states, told, stop } = followCustom(
          [[node("a", 5)], unserved],
          [[unserved]],
          definition,
        );
        await clock.advance(3_600_000);
        expect(seen).toEqual(["list of 1"]);
        expect(states).toEqual(["current", "behind"]);
        expect(told.length).toBeGreaterThan(30);
        expect(told.length).toBeLessThanOrEqual(61);
        expect(told[0]).toBe(
          "kind is not served, waiting for it: serve version v1 in customresourcedefinition widgets.example.com",
        );
        stop();
      }
      const builtIn = scripted([[node("a", 5)], unserved], [[unserved]]);
      const { clock, seen, states, stop } = follow(builtIn);
      await clock.advance(3_600_000);
      expect(seen).toEqual(["list of 1"]);
      expect(states).toEqual(["current", "behind"]);
      stop();
    });

    it("counts as empty once its CustomResourceDefinition is proven gone", async () => {
      const { clock, seen, states, stop } = followCustom(
        [[node("a", 5)], unserved],
        [[unserved]],
        gone,
      );
      await clock.advance(20_000);
      expect(seen).toEqual(["list of 1", "list of 0"]);
      expect(states).toEqual(["current", "behind", "current"]);
      stop();
    });

    it("stays empty, unproven, when its CustomResourceDefinition was gone and then cannot be read", async () => {
      const server = scripted([[node("a", 5)], unserved], [[unserved]]);
      const definitions = [gone, forbidden];
      const get = async () => Promise.reject(definitions.shift() ?? forbidden);
      const client = { ...server.client, get } as unknown as KubeClient;
      const { clock, seen, states, stop } = follow({ ...server, client }, { kind: CUSTOM });
      await clock.advance(50_000);
      expect(seen).toEqual(["list of 1", "list of 0", "list of 0"]);
      expect(states).toEqual(["current", "behind", "current", "unproven"]);
      stop();
    });

    it.each([
      ["its definition is installed again and not served yet", unserved, { metadata: {} }],
      ["it may not be listed", forbidden, undefined],
      ["listing it fails", new KubeError(500, { code: 500 }, "listing"), undefined],
    ])(`is "behind", no longer "current", once %s`, async (_, answer, definition) => {
      const server = scripted([unserved, answer], []);
      const definitions: unknown[] = [gone, definition];
      const get = async () => {
        const one = definitions.shift() ?? definition;
        if (one instanceof Error) throw one;
        return one as never;
      };
      const client = { ...server.client, get } as KubeClient;
      const { clock, seen, states, stop } = follow({ ...server, client }, { kind: CUSTOM });
      await clock.advance(25_000);
      expect(states).toEqual(["current"]);
      await clock.advance(25_000);
      expect(states).toEqual(["current", "behind"]);
      expect(seen).toEqual(["list of 0"]);
      stop();
    });

    it("is awaited at the start if its definition exists; is empty but unproven if that is unreadable", async () => {
      const there = followCustom([unserved, unserved, [node("a", 5)]], [], { metadata: {} });
      await there.clock.advance(500);
      expect(there.seen).toEqual([]);
      await there.clock.advance(10_000);
      expect(there.seen).toEqual(["list of 1"]);
      there.stop();
      const unknown = followCustom([unserved], [], forbidden);
      await unknown.clock.advance(500);
      expect(unknown.seen).toEqual(["list of 0"]);
      expect(unknown.states).toEqual(["unproven"]);
      unknown.stop();
    });
  });

  it("waits when listing is forbidden, logs which rights to grant, and keeps its objects", async () => {
    const forbidden = new KubeError(403, { code: 403, reason: "Forbidden" }, "listing");
    const server = scripted([forbidden, [node("a", 5)]], [[forbidden]]);
    const { clock, seen, states, told, stop } = follow(server);
    await clock.settle();
    const remedy = "grant list and watch on nodes to the controller's service account";
    expect(told).toEqual([`not allowed to watch, waiting for the right: ${remedy}`]);
    expect(seen).toEqual([]);
    await clock.advance(10_000);
    expect(seen).toEqual(["list of 1"]);
    expect(states).toEqual(["current", "behind", "current"]);
    expect(server.calls.slice(0, 4)).toEqual(["list", "list", "watch 5", "watch 5"]);
    stop();
  });

  it("treats an optional kind that it may not list as empty, and lists it again later", async () => {
    const forbidden = new KubeError(403, { code: 403, reason: "Forbidden" }, "listing");
    const server = scripted([forbidden, forbidden, [node("a", 5)]], []);
    const { clock, seen, told, stop } = follow(server, { optional: true });
    await clock.advance(290_000);
    expect(seen).toEqual(["list of 0"]);
    await clock.advance(320_000);
    expect(seen).toEqual(["list of 0", "list of 0", "list of 1"]);
    expect(told).toHaveLength(1);
    stop();
  });

  it(`keeps the objects of an optional kind, as "behind", when listing it becomes forbidden`, async () => {
    const forbidden = new KubeError(403, { code: 403, reason: "Forbidden" }, "listing");
    const expired = new KubeError(410, { code: 410, reason: "Expired" }, "watching");
    const server = scripted([[node("a", 5)], forbidden], []);
    const watch = async () => Promise.reject(expired);
    const client = { ...server.client, watch } as KubeClient;
    const { clock, seen, states, stop } = follow({ ...server, client }, { optional: true });
    await clock.advance(3_600_000);
    expect(seen).toEqual(["list of 1"]);
    expect(states).toEqual(["current", "behind"]);
    stop();
  });

  it("closes a watch without events or bookmarks for 75 s, and resumes from its version", async () => {
    const server = scripted([[node("a", 5)]], []);
    const { clock, states, stop } = follow(server);
    await clock.advance(74_000);
    expect(server.calls).toEqual(["list", "watch 5"]);
    await clock.advance(2_000);
    expect(server.calls).toEqual(["list", "watch 5", "look", "watch 5"]);
    expect(states).toEqual(["current", "behind", "current"]);
    stop();
  });

  it(`is "behind" after 75 s of a silent watch, even if the watch cannot be closed`, async () => {
    const server = scripted([[node("a", 5)]], []);
    const stuck = { ...play(undefined), close: () => undefined };
    const client = { ...server.client, watch: async () => stuck } as unknown as KubeClient;
    const { clock, states, stop } = follow({ ...server, client });
    await clock.advance(70_000);
    expect(states).toEqual(["current"]);
    await clock.advance(10_000);
    expect(states).toEqual(["current", "behind"]);
    stop();
  });

  it("continues and logs an error if a list handler fails, whether the kind is served or not", async () => {
    const unserved = new KubeError(404, { code: 404, reason: "NotFound" }, "listing");
    const forbidden = new KubeError(403, { code: 403, reason: "Forbidden" }, "listing");
    for (const answer of [unserved, forbidden, [node("b", 3)]]) {
      const server = scripted([answer, answer, [node("a", 5)]], []);
      const taken: number[] = [];
      const errors: string[] = [];
      const { clock, stop } = follow(server, {
        log: { ...SILENT, error: (message) => errors.push(message) },
        optional: true,
        onList: async ({ items }) => {
          taken.push(items.length);
          await clock.sleep(10);
          if (taken.length === 1) throw new TypeError("no such thing");
        },
      });
      await clock.advance(700_000);
      expect(taken.length).toBeGreaterThanOrEqual(3 - (Array.isArray(answer) ? 1 : 0));
      expect(errors).toEqual(["failed taking in what a watch brought"]);
      stop();
    }
  });

  it("continues with the next event if an event handler fails", async () => {
    const server = scripted([[node("a", 5)]], [[added("b", 7), added("c", 8)]]);
    const taken: string[] = [];
    const errors: string[] = [];
    const { clock, stop } = follow(server, {
      log: { ...SILENT, error: (message) => errors.push(message) },
      onEvent: ({ object: { metadata } }) => {
        taken.push(metadata.name);
        if (metadata.name === "b") throw new TypeError("no such thing");
      },
    });
    await clock.advance(10_000);
    expect(taken).toEqual(["b", "c"]);
    expect(errors).toHaveLength(1);
    expect(server.calls.filter((call) => call === "list")).toHaveLength(1);
    stop();
  });

  it.each([
    ["list", [node("a", 5)]],
    ["refusal", new KubeError(403, { code: 403, reason: "Forbidden" }, "listing")],
  ])("ignores a %s that arrives after close", async (_, answer) => {
    const server = scripted([answer], []);
    const { list } = server.client;
    let arrive = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const slow = async (...call: Parameters<typeof list>) => {
      await late;
      return list(...call);
    };
    const client = { ...server.client, list: slow } as KubeClient;
    const { clock, seen, states, told, stop } = follow({ ...server, client });
    await clock.settle();
    stop();
    arrive();
    await clock.settle();
    expect({ seen, states, told }).toEqual({ seen: [], states: [], told: [] });
  });

  it("starts no timer if it is closed while a list handler runs", async () => {
    const unserved = new KubeError(404, { code: 404, reason: "NotFound" }, "listing");
    for (const answer of [unserved, [node("a", 5)]]) {
      const server = scripted([answer], []);
      const clock = new VirtualClock();
      const waits: number[] = [];
      const counting: Clock = {
        now: () => clock.now(),
        elapsedMs: () => clock.elapsedMs(),
        turnMs: () => clock.turnMs(),
        sleep: (ms) => clock.sleep(ms),
        after: (ms, callback) => {
          waits.push(ms);
          return clock.after(ms, callback);
        },
      };
      const loop = reflect<Node>({
        client: server.client,
        clock: counting,
        random: new Random(1),
        log: SILENT,
        kind: NODE,
        onList: () => clock.sleep(100),
        onEvent: () => undefined,
      });
      await clock.advance(50);
      loop.close();
      await clock.advance(60_000);
      expect(waits).toEqual([]);
      expect(server.calls).toEqual(["list"]);
    }
  });

  it("lists no more after close, even if closed during a backoff", async () => {
    const server = scripted([new ConnectionError("refused")], []);
    const { clock, stop } = follow(server);
    await clock.settle();
    stop();
    await clock.advance(120_000);
    expect(server.calls).toEqual(["list"]);
  });
});

describe("informers", () => {
  it("pass a change to every listener, and the result to its writer, even if one listener fails", async () => {
    const clock = new VirtualClock();
    const errors: string[] = [];
    const log: Logger = {
      ...SILENT,
      named: () => log,
      error: (message) => errors.push(message),
    };
    const mirrors = new LiveMirrors({ clock, random: new Random(1), log, client: fakeKube(clock) });
    const nodes = mirrors.of(NODE);
    await clock.settle();
    nodes.on(() => {
      throw new TypeError("no such thing");
    });
    const heard: string[] = [];
    nodes.on((event, { metadata }) => heard.push(`${event} ${metadata.name}`));
    const created = await mirrors.client.create(NODE, { metadata: { name: "a" } });
    expect(created.metadata.name).toBe("a");
    await mirrors.client.delete(NODE, { name: "a" });
    await clock.advance(1_000);
    expect(heard).toEqual(["added a", "removed a"]);
    expect(errors).toEqual(["failed taking in a change", "failed taking in a change"]);
    mirrors.close();
  });

  it("tell which vital kinds are set back and since when, until their versions have caught up", async () => {
    const clock = new VirtualClock();
    const versions = ["9", "6"];
    const client = {
      list: async () => ({ items: [node("a", 5)], resourceVersion: versions.shift() ?? "12" }),
      watch: confirming(async () =>
        play([new KubeError(410, { code: 410, reason: "Expired" }, "watching")]),
      ),
    } as unknown as KubeClient;
    const mirrors = new LiveMirrors({ clock, random: new Random(1), log: SILENT, client });
    const heard: string[] = [];
    mirrors.onSetBack(() =>
      heard.push(
        mirrors
          .setBack()
          .map(({ kind }) => kind)
          .join(),
      ),
    );
    mirrors.of(NODE, { vital: true });
    const sinceMs = clock.elapsedMs();
    await clock.settle();
    expect(mirrors.setBack()).toEqual([{ kind: "Node", sinceMs }]);
    expect(mirrors.viewOf(NODE)).not.toBe("current");
    await clock.advance(30_000);
    expect(mirrors.setBack()).toEqual([]);
    expect(heard).toEqual(["Node", ""]);
    mirrors.close();
  });

  it.each([
    ["of the same version", "9"],
    ["of an older version", "3"],
    ["without a version", ""],
  ])("do not take in a list %s that lacks what the server has by name", async (_, emptyAt) => {
    const clock = new VirtualClock();
    const all = [node("a", 5), node("b", 6)];
    const lists = [all, [], [], all.slice(1)];
    const told: string[] = [];
    const log: Logger = { ...SILENT, named: () => log, error: (text) => told.push(text) };
    let isGone = false;
    const client = {
      list: async (_: unknown, { fieldSelector }: { fieldSelector?: string }) => {
        const named = all.filter(({ metadata: { name } }) => fieldSelector?.endsWith(`=${name}`));
        if (fieldSelector !== undefined)
          return { items: isGone ? [] : named, resourceVersion: "9" };
        isGone = lists.length === 1;
        const items = lists.shift() ?? [];
        return { items, resourceVersion: items.length === 0 ? emptyAt : "9" };
      },
      watch: confirming(async () => play(lists.length > 0 ? expired : undefined)),
    } as unknown as KubeClient;
    const mirrors = new LiveMirrors({ clock, random: new Random(1), log, client });
    const nodes = mirrors.of(NODE, { vital: true });
    await clock.advance(500);
    expect([nodes.size, mirrors.current, lists.length]).toEqual([2, false, 2]);
    expect(told).toEqual(["list lacks an object that the API server has by name, not taken in"]);
    await clock.advance(60_000);
    expect(nodes.list().map(({ metadata: { name } }) => name)).toEqual(["b"]);
    expect(mirrors.current).toBe(true);
    mirrors.close();
  });

  const expired = [new KubeError(410, { code: 410, reason: "Expired" }, "watching")];
  it.each([
    ["a watch is silent", []],
    ["a watch has expired and the next one has ended", [[], expired, []]],
  ])("have objects as a restored store has them, once %s", async (_, scripts: Script[]) => {
    const clock = new VirtualClock();
    const watches = [...scripts];
    let isRestored = false;
    const client = {
      list: async () =>
        isRestored
          ? { items: [node("a", 5)], resourceVersion: "6" }
          : { items: [node("a", 20)], resourceVersion: "20" },
      watch: confirming(async () => play(watches.shift())),
    } as unknown as KubeClient;
    const mirrors = new LiveMirrors({ clock, random: new Random(1), log: SILENT, client });
    const nodes = mirrors.of(NODE, { vital: true });
    await clock.settle();
    expect(nodes.get("a")?.metadata.resourceVersion).toBe("20");
    isRestored = true;
    await clock.advance(120_000);
    expect(nodes.get("a")?.metadata.resourceVersion).toBe("5");
    // It is still no proof that an object is gone.
    expect(mirrors.setBack()).toHaveLength(1);
    mirrors.close();
  });

  it("all list at once when one of them reaches a server that was away", async () => {
    const cut = new ConnectionError("refused");
    const server = scripted([cut, cut, cut, cut, cut, cut, cut, cut, []], []);
    const clock = new VirtualClock();
    const deps = { clock, random: new Random(1), log: SILENT, client: server.client };
    const mirrors = new LiveMirrors(deps);
    const [nodes, pods] = [mirrors.of(NODE, { vital: true }), mirrors.of(POD, { vital: true })];
    expect(mirrors.behind()).toEqual(["Node", "Pod"]);
    while (!nodes.synced && !pods.synced) await clock.advance(100);
    await clock.settle();
    expect([nodes.synced, pods.synced, mirrors.current]).toEqual([true, true, true]);
    mirrors.close();
  });

  it("retry soon when the server is back but answers 429 for their kind", async () => {
    const clock = new VirtualClock();
    let nodesAnswer: Error | undefined = new ConnectionError("refused");
    let podsAnswer: Error | undefined = nodesAnswer;
    const client = {
      list: async ({ kind }: { kind: string }) => {
        const answer = kind === "Pod" ? podsAnswer : nodesAnswer;
        if (answer !== undefined) throw answer;
        return { items: [], resourceVersion: "1" };
      },
      watch: confirming(async () => play(undefined)),
    } as unknown as KubeClient;
    const mirrors = new LiveMirrors({ clock, random: new Random(1), log: SILENT, client });
    const [nodes, pods] = [mirrors.of(NODE), mirrors.of(POD)];
    // After this time, each back-off is half a minute or longer.
    await clock.advance(300_000);
    nodesAnswer = undefined;
    podsAnswer = new KubeError(429, { message: "storage is (re)initializing" }, "list pods");
    while (!nodes.synced) await clock.advance(100);
    podsAnswer = undefined;
    await clock.advance(1_600);
    expect(pods.synced).toBe(true);
    mirrors.close();
  });
});

describe("manager", () => {
  it("reconciles nothing while a vital watch is broken, and continues when it is current again", async () => {
    const cut = [new ConnectionError("reset")];
    const server = scripted([[node("a", 5)]], [cut, cut, cut]);
    const clock = new VirtualClock();
    const deps = { clock, random: new Random(1), log: SILENT };
    const mirrors = new LiveMirrors({ ...deps, client: server.client });
    mirrors.of(NODE, { vital: true });
    const manager = createManager({ ...deps, mirrors });
    const worked: string[] = [];
    let ask: (request: Request) => void = () => undefined;
    manager.add({
      name: "test",
      watches: [],
      concurrency: 1,
      listen: (add) => {
        ask = add;
        return () => undefined;
      },
      reconcile: async ({ name }) => {
        worked.push(`${name} ${mirrors.current}`);
        return AWAIT_CHANGE;
      },
    });
    await manager.start();
    await clock.settle();
    ask({ kind: "", name: "early" });
    await clock.settle();
    expect([worked, mirrors.behind()]).toEqual([[], ["Node"]]);
    await clock.advance(10_000);
    expect([worked, mirrors.current]).toEqual([["early true"], true]);
    await manager.stop();
    mirrors.close();
  });

  it("runs no controller before every informer has its first list", async () => {
    const server = scripted([new ConnectionError("not yet"), [node("a", 5)]], []);
    const clock = new VirtualClock();
    const deps = { clock, random: new Random(1), log: SILENT };
    const mirrors = new LiveMirrors({ ...deps, client: server.client });
    const manager = createManager({ ...deps, mirrors });
    const worked: string[] = [];
    manager.add({
      name: "test",
      watches: [source(NODE)],
      concurrency: 1,
      initialRequests: [{ kind: "", name: "itself" }],
      reconcile: async ({ name }) => {
        worked.push(`${name}, ${mirrors.of(NODE).size} nodes known`);
        return AWAIT_CHANGE;
      },
    });
    void manager.start();
    await clock.settle();
    expect(worked).toEqual([]);
    await clock.advance(5_000);
    expect(worked).toEqual(["a, 1 nodes known", "itself, 1 nodes known"]);
    await manager.stop();
    mirrors.close();
  });
});

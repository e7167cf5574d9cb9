import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { createPodProjection } from "../../controllers/pod-projection.ts";
import { createClusterState } from "../../core/state/create-cluster-state.ts";
import { encodeProtobuf, encodeWatchFrame } from "../../sandbox/apiserver/protobuf/encode.ts";
import type { KubeClient, ReadFrame, TakeFrame, Watch, WatchEvent } from "../client/client.ts";
import { UnreadableFrame } from "../errors.ts";
import { createPodFrameReader, createPodKeyReader } from "../protobuf/pod-frames.ts";
import { Informer } from "./informer.ts";
import { LatestEvents } from "./latest-events.ts";

interface PodFields {
  readonly uid?: string;
  readonly node?: string;
  readonly cpu?: string;
}

function pod(name: string, version: number, { uid = name, node, cpu = "1" }: PodFields = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "a", uid, resourceVersion: String(version), labels: { app: "w" } },
    spec: {
      containers: [{ name: "c", resources: { requests: { cpu } } }],
      ...(node === undefined ? {} : { nodeName: node }),
    },
  } as Pod;
}

const frameOf = ({ type, object }: WatchEvent): Uint8Array =>
  encodeWatchFrame(type, encodeProtobuf({ ...object } as never)).subarray(4);

/** A watch to which the test sends frames. */
function sentWatch() {
  const sent: (Uint8Array | Error | undefined)[] = [];
  let wake = (): void => undefined;
  const send = (one: Uint8Array | Error | undefined): void => {
    sent.push(one);
    wake();
  };
  const watch = async (_: unknown, { readFrame }: { readFrame?: TakeFrame<Pod> }) =>
    ({
      close: () => send(undefined),
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          for (;;) {
            while (sent.length === 0)
              await new Promise<void>((resolve) => {
                wake = resolve;
              });
            const one = sent.shift();
            if (one instanceof Error) throw one;
            if (one === undefined) return { done: true, value: undefined };
            const value = readFrame?.(one);
            // The bytes are valid only during the call.
            one.fill(0);
            if (value !== undefined) return { done: false, value };
          }
        },
      }),
    }) as Watch<Pod>;
  return { client: { watch } as unknown as Pick<KubeClient, "watch">, send };
}

/** A mirror that takes in the latest events, as the loop of a watch does. */
async function followed(take?: (event: WatchEvent<Pod>) => void, unreadable = "") {
  const { client, send } = sentWatch();
  const project = createPodProjection();
  const read: string[] = [];
  const readPod = createPodFrameReader(project);
  const readFrame: ReadFrame<Pod> = (frame) => {
    const event = readPod(frame);
    if (event.object.metadata.name === unreadable) throw new Error("wrong bytes");
    read.push(`${event.type} ${event.object.metadata.name}`);
    return event;
  };
  const latest = new LatestEvents<Pod>(new SystemClock(), createPodKeyReader());
  const watch = await latest.watch(client, POD, { resourceVersion: "10", readFrame });
  const mirror = new Informer(POD, { project });
  const told: string[] = [];
  mirror.on((event, { metadata: { name, uid, resourceVersion } }) =>
    told.push(`${event} ${name} ${uid}@${resourceVersion}`),
  );
  const taken = (async () => {
    for await (const event of watch) (take ?? ((one) => mirror.take(one)))(event);
  })();
  const bring = async (...events: readonly WatchEvent<Pod>[]): Promise<void> => {
    for (const event of events) send(frameOf(event));
    await nextTurn();
  };
  return { latest, watch, mirror, send, bring, taken, read, told: () => told.splice(0) };
}

const added = (object: Pod): WatchEvent<Pod> => ({ type: "ADDED", object });
const modified = (object: Pod): WatchEvent<Pod> => ({ type: "MODIFIED", object });
const deleted = (object: Pod): WatchEvent<Pod> => ({ type: "DELETED", object });

describe("the latest events of a watch", () => {
  it("hold back a change until it is wanted, and count it", async () => {
    const { latest, mirror, bring } = await followed();
    await bring(added(pod("x", 11)));
    expect([mirror.size, latest.arrived]).toEqual([0, 1]);
    await latest.settled();
    expect([mirror.size, latest.arrived]).toEqual([1, 1]);
    await latest.settled();
  });

  it("decode and pass on a pod that changed several times only once, in its last state", async () => {
    const { latest, bring, read, told } = await followed();
    await bring(
      added(pod("x", 11)),
      modified(pod("x", 12, { node: "n1" })),
      added(pod("y", 13)),
      modified(pod("x", 14, { node: "n2" })),
    );
    await latest.settled();
    expect(read).toEqual(["ADDED y", "MODIFIED x"]);
    expect(told()).toEqual(["added y y@13", "added x x@14"]);
  });

  it("tell nothing about a pod that was created and deleted meanwhile", async () => {
    const { latest, bring, told } = await followed();
    await bring(added(pod("y", 12)), deleted(pod("y", 13)));
    await latest.settled();
    expect(told()).toEqual([]);
  });

  it("remove a deleted pod before another pod of the same name is added", async () => {
    const { latest, bring, told } = await followed();
    await bring(added(pod("x", 1)));
    await latest.settled();
    await bring(deleted(pod("x", 11)), added(pod("x", 12, { uid: "other" })));
    await latest.settled();
    await bring(deleted(pod("x", 13, { uid: "other" })));
    await latest.settled();
    expect(told()).toEqual([
      "added x x@1",
      "removed x x@1",
      "added x other@12",
      "removed x other@12",
    ]);
  });

  it("say while the reader takes in an event that was held back", async () => {
    const during: boolean[] = [];
    const { latest, bring } = await followed(() => during.push(latest.isGiving));
    await bring(added(pod("x", 11)));
    expect(latest.isGiving).toBe(false);
    await latest.settled();
    expect([...during, latest.isGiving]).toEqual([true, false]);
  });

  it("are passed on at once if they take much memory", async () => {
    const { mirror, bring } = await followed();
    const labels = { app: "w", long: "x".repeat(2 ** 20) };
    const large = (name: string, version: number): Pod => {
      const one = pod(name, version);
      return { ...one, metadata: { ...one.metadata, labels } };
    };
    await bring(...Array.from({ length: 7 }, (_, at) => added(large(`p${at}`, 11 + at))));
    expect(mirror.size).toBe(0);
    await bring(added(large("p8", 19)), added(large("p9", 20)));
    await expect.poll(() => mirror.size).toBeGreaterThanOrEqual(7);
  });

  it("are passed on before the end of the watch, and before its error", async () => {
    const ending = await followed();
    await ending.bring(added(pod("x", 11)));
    ending.send(undefined);
    await ending.taken;
    expect(ending.told()).toEqual(["added x x@11"]);
    await ending.latest.settled();

    const failing = await followed();
    await failing.bring(added(pod("x", 11)));
    failing.send(new Error("the connection broke"));
    await expect(failing.taken).rejects.toThrow("the connection broke");
    expect(failing.told()).toEqual(["added x x@11"]);
    await failing.latest.settled();
  });

  it("end with UnreadableFrame at a frame that cannot be decoded, and nobody waits for the others", async () => {
    const { latest, bring, taken, told } = await followed(undefined, "y");
    const failed = expect(taken).rejects.toThrow(UnreadableFrame);
    await bring(added(pod("x", 11)), added(pod("y", 12)), added(pod("z", 13)));
    await latest.settled();
    await failed;
    expect(told()).toEqual(["added x x@11"]);
    await latest.settled();
  });
});

/** An event on one of a few pods: it is created or changed on a node, created again, or deleted. Or a page settles. */
const drawn = fc.array(
  fc.record({
    pod: fc.nat(4),
    node: fc.nat(2),
    cpu: fc.constantFrom("1", "2"),
    does: fc.constantFrom("put", "put", "put", "delete", "recreate", "settle"),
  }),
  { maxLength: 60, size: "max" },
);

/** A pod is created again and deleted between two pages that settle: only its last deletion is passed on. */
const CREATED_AGAIN = (["put", "settle", "recreate", "delete"] as const).map((does) => ({
  pod: 0,
  node: 1,
  cpu: "1" as const,
  does,
}));

type Drawn = (typeof drawn extends fc.Arbitrary<infer T> ? T : never)[number];

/** The events of a server that holds the pods in `store`. */
function eventsOf({ pod: at, node, cpu, does }: Drawn, version: number, store: Map<string, Pod>) {
  const name = `p${at}`;
  const known = store.get(name);
  const uid = known?.metadata.uid ?? `${name}-${version}`;
  const bound = node === 0 ? {} : { node: `n${node}` };
  const gone = (): WatchEvent<Pod>[] => {
    store.delete(name);
    return known === undefined
      ? []
      : [deleted({ ...known, metadata: { ...known.metadata, resourceVersion: String(version) } })];
  };
  if (does === "delete") return gone();
  const before = does === "recreate" ? gone() : [];
  const next = pod(name, version + 1, {
    uid: does === "recreate" ? `${name}-${version}` : uid,
    cpu,
    ...bound,
  });
  store.set(name, next);
  return [...before, known === undefined || does === "recreate" ? added(next) : modified(next)];
}

function nodeOf(name: string): Node {
  const status = { allocatable: { cpu: "64" }, capacity: { cpu: "64" } };
  const spec = { providerID: `x://${name}` };
  return { apiVersion: "v1", kind: NODE.kind, metadata: { name, uid: name }, spec, status } as Node;
}

function stateOf(pods: readonly Pod[]) {
  const state = createClusterState();
  for (const name of ["n1", "n2"]) state.updateNode(nodeOf(name));
  for (const one of pods) state.updatePod(one);
  return state;
}

const shown = (state: ReturnType<typeof stateOf>) => ({
  unbound: state.unboundPods(),
  nodes: state.nodes().map(({ name, pods, available }) => ({ name, pods, available })),
});

describe("a cluster state that is fed with the latest events", () => {
  it("equals one that is built from the server's pods, whenever a page settles", async () => {
    await fc.assert(
      fc.asyncProperty(drawn, async (steps) => {
        const { latest, mirror, bring, watch } = await followed();
        const fed = stateOf([]);
        mirror.on((event, object) =>
          event === "removed" ? fed.deletePod(keyOf(object)) : fed.updatePod(object),
        );
        const project = createPodProjection();
        const store = new Map<string, Pod>();
        let version = 10;
        for (const step of [...steps, { pod: 0, node: 0, cpu: "1", does: "settle" }]) {
          version += 2;
          if (step.does !== "settle") {
            await bring(...eventsOf(step as Drawn, version, store));
            continue;
          }
          await latest.settled();
          const pods = [...store.values()].map((one) => project(one));
          expect(mirror.list()).toEqual(pods.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)));
          expect(shown(fed)).toEqual(shown(stateOf(pods)));
        }
        watch.close();
      }),
      { numRuns: 100, examples: [[CREATED_AGAIN]] },
    );
  });
});

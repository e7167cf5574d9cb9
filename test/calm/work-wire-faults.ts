/**
 * Faults of the API server, its watches and its Lease; work-stage.ts plays them. Events arrive twice, in the wrong
 * order or never. Reads are slow. Writes are refused, or succeed although their answer is an error.
 */
import type { KubeRequest, KubeResponse, KubeStream } from "../../src/kube/transport/transport.ts";
import { type Fault, refusal } from "../replicas.ts";
import { asked, type Collection } from "./lies.ts";
import { refused } from "./odd-faults.ts";
import { CLAIMS, NODES, PODS, POOLS, patch } from "./work-faults.ts";
import type { MakeFault, WorkFault, WorkScene } from "./work-stage.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/karpenter/leases/karpenter-leader-election";

/** Returns the events that a watch delivers in place of `event`. `last`: the event before it. */
type Twist = (event: Frame, last: Frame | undefined) => readonly Frame[];
type Frame = { readonly type: string; readonly object: { readonly metadata: Meta } };
type Meta = { readonly name?: string; readonly resourceVersion?: string };

const TWISTS: Readonly<Record<string, Twist>> = {
  "each event twice": (event) => [event, event],
  "each event, and the one before it again": (event, last) =>
    last === undefined ? [event] : [event, last],
  "no deletions": (event) => (event.type === "DELETED" ? [] : [event]),
  "deletions as additions": (event) => [
    event.type === "DELETED" ? { ...event, type: "ADDED" } : event,
  ],
  "bookmarks of the past between events": (event) => [bookmark("1"), event, bookmark("1")],
  "bookmarks of versions to come between events": (event) => [event, bookmark("99999999")],
  "events without a version": (event) => [
    {
      ...event,
      object: {
        ...event.object,
        metadata: { ...event.object.metadata, resourceVersion: "" },
      },
    },
  ],
};

/** Faults by title. Each is created again for each cluster. */
export const WIRE_FAULTS: Readonly<Record<string, MakeFault>> = {
  ...Object.fromEntries(
    Object.entries(TWISTS).flatMap(([what, twist]) =>
      [CLAIMS, NODES, PODS].map((of): [string, MakeFault] => [
        `watches of ${of.split("/").at(-1)} bring ${what}`,
        (scene) => twisted(scene, of, twist),
      ]),
    ),
  ),
  ...Object.fromEntries(
    [403, 409, 429, 500].map((code): [string, MakeFault] => [
      `writes are refused with ${code} for ten minutes`,
      (scene) => ({
        ...answered(async ({ method, path }) =>
          method === "GET" || path.includes("/leases")
            ? undefined
            : refusal(code, REASONS[code] ?? ""),
        ),
        lastsMs: 10 * MINUTE,
        costs: rolledBack(scene),
        isMute: true,
      }),
    ]),
  ),
  "writes are refused with 500 for ten minutes, those of the Lease, too": (scene) => ({
    ...answered(async ({ method }) => (method === "GET" ? undefined : refused(500))),
    lastsMs: 10 * MINUTE,
    costs: rolledBack(scene),
    isMute: true,
  }),
  "every third write arrives and is answered with an error": (scene) => {
    let writes = 0;
    return answered(async (request) => {
      if (request.method === "GET" || request.path.includes("/leases")) return undefined;
      if (++writes % 3 !== 0) return undefined;
      await scene.world.box.sandbox.transport.send(request);
      return refusal([500, 504, 409, 404][writes % 4] ?? 500, "InternalError");
    });
  },
  "another program writes each object before each write of Karpenter": (scene) => {
    let times = 0;
    return {
      ...answered(async (request) => {
        const of = asked(request)?.of ?? "";
        if (!/^(?:PUT|PATCH)$/.test(request.method) || ![CLAIMS, NODES, POOLS].includes(of))
          return undefined;
        const path = request.path.replace(/\?.*$/, "").replace(/\/status$/, "");
        const annotations = { "example.com/times": `${times++}` };
        await patch(scene, path, { metadata: { annotations } });
        return undefined;
      }),
      // Back-off makes it hundreds. A retry for each event makes it tens of thousands.
      end: () => {
        if (times > 3_000) throw new Error(`${times} writes in five minutes`);
      },
      costs: 2,
      isMute: true,
    };
  },
  "reads are answered after 30 seconds": ({ world }) => ({
    ...answered(async ({ method, path }) => {
      if (method === "GET" && !path.includes("/leases")) await world.clock.sleep(30 * SECOND);
      return undefined;
    }),
    lastsMs: 10 * MINUTE,
  }),
  "the lead is stolen for 20 seconds": (scene) => {
    let times = 2;
    const steal = (holderIdentity: string) =>
      patch(scene, LEASE, {
        spec: { holderIdentity, renewTime: microTime(scene.world.clock.now()) },
      });
    return { during: async () => void (times-- > 0 && (await steal("thief"))) };
  },
  "the clock of the next leader is an hour behind": () => ({ ahead: () => -60 * MINUTE }),
};

const REASONS: Readonly<Record<number, string>> = {
  403: "Forbidden",
  409: "Conflict",
  429: "TooManyRequests",
  500: "InternalError",
};

/**
 * Number of instances that are launched and never used: a command that cannot be carried out for ten minutes is
 * rolled back.
 */
function rolledBack({ work }: WorkScene): number {
  return work === "drift" || work === "consolidation" ? 1 : 0;
}

function answered(fault: Fault): WorkFault {
  return { met: { fault } };
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

function bookmark(resourceVersion: string): Frame {
  return { type: "BOOKMARK", object: { metadata: { resourceVersion } } };
}

/** Watches of the kind deliver what `twist` makes of each event. */
export function twisted(scene: WorkScene, of: Collection, twist: Twist): WorkFault {
  const { transport } = scene.world.box.sandbox;
  const fault: Fault = async (request: KubeRequest): Promise<KubeResponse | undefined> => {
    const what = asked(request);
    if (what?.of !== of || !what.isWatch) return undefined;
    // Karpenter may ask for protobuf. This code changes only JSON, so the answer must be JSON.
    const answer = await transport.send({
      ...request,
      headers: { ...request.headers, accept: "application/json" },
    });
    const { stream } = answer;
    return stream === undefined ? answer : { ...answer, stream: changed(stream, twist) };
  };
  return { met: { fault } };
}

function changed(stream: KubeStream, twist: Twist): KubeStream {
  return {
    close: () => stream.close(),
    async *[Symbol.asyncIterator]() {
      let last: Frame | undefined;
      for await (const frame of stream) {
        const event = frame as unknown as Frame;
        for (const one of twist(event, last)) yield one as never;
        last = event;
      }
    },
  };
}

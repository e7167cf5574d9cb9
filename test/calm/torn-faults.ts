/**
 * More odd faults. An answer by name is wrong, or is another object, while lists are right. A list ends early. A
 * create succeeds, but its answer is an error.
 */
import type { KubeResponse } from "../../src/kube/transport/transport.ts";
import type { Fault } from "../replicas.ts";
import type { TestWorld } from "../world.ts";
import type { OddFault } from "./doubts.ts";
import { asked, type Collection, openStream } from "./lies.ts";
import {
  type Body,
  bodyOf,
  eachInstance,
  eachItem,
  idle,
  ofCloud,
  refused,
  requests,
  withMetadata,
} from "./odd-faults.ts";

const CLAIMS: Collection = "/apis/karpenter.sh/v1/nodeclaims";
const POOLS: Collection = "/apis/karpenter.sh/v1/nodepools";
const CLASSES: Collection = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";
const NODES: Collection = "/api/v1/nodes";
const PODS: Collection = "/api/v1/pods";

/** Faults by title. Each is created again for each cluster. */
export const TORN_FAULTS: Readonly<Record<string, (world: TestWorld) => OddFault>> = {
  "every Node is not found by its name": (world) => byName(world, NODES, (name) => notFound(name)),
  "a NodeClaim is read by its name as an empty answer": (world) =>
    byName(world, CLAIMS, () => empty()),
  "a Node is read by its name as an empty answer": (world) => byName(world, NODES, () => empty()),
  "a NodeClaim is read by its name without metadata": (world) =>
    byName(world, CLAIMS, () => ok({})),
  "NodeClaims are read by their names as one another": (world) => swapped(world, CLAIMS),
  "Nodes are read by their names as one another": (world) => swapped(world, NODES),
  "lists of NodeClaims are empty answers": () => answered(CLAIMS, () => empty()),
  "lists of Nodes are empty answers": () => answered(NODES, () => empty()),
  "lists of NodeClaims are another kind's": () =>
    bodyOf(CLAIMS, (body) => ({ ...body, kind: "PodList", items: [] })),
  "each list and watch of NodeClaims is too old": () => answered(CLAIMS, () => refused(410)),
  "the token of a list of NodeClaims expires on the second page": (world) => torn(world, CLAIMS),
  "the token of a list of Nodes expires on the second page": (world) => torn(world, NODES),
  "NodeClaims are served, missing, empty and refused in turn": (world) => flapping(world, CLAIMS),
  "Nodes are served, missing, empty and refused in turn": (world) => flapping(world, NODES),
  "watches of NodeClaims tell that each is being deleted": () => deletedByWatch(CLAIMS),
  "NodeClaims are read with each other's provider IDs": () =>
    rotated(CLAIMS, "status", "providerID"),
  "Nodes are read with each other's provider IDs": () => rotated(NODES, "spec", "providerID"),
  "NodeClaims are read as expiring after a minute": () =>
    eachItem(CLAIMS, (one) => withPart(one, "spec", { expireAfter: "1m" })),
  "NodeClaims are read as drifted": () =>
    eachItem(CLAIMS, (one) =>
      withMetadata(one, {
        annotations: {
          "karpenter.sh/nodepool-hash": "0",
          "karpenter.sh/nodepool-hash-version": "v3",
        },
      }),
    ),
  "NodeClaims are read as of another pool": () =>
    eachItem(CLAIMS, (one) => withMetadata(one, { labels: { "karpenter.sh/nodepool": "gone" } })),
  "NodePools are read with other UIDs": () =>
    eachItem(POOLS, (one) => withMetadata(one, { uid: "another" })),
  "NodePools are read with limits of nothing": () =>
    eachItem(POOLS, (one) => withPart(one, "spec", { limits: { cpu: "0" } })),
  "NodePools are read as static, of no nodes": () =>
    eachItem(POOLS, (one) => withPart(one, "spec", { replicas: 0 })),
  "EC2NodeClasses are read with other UIDs": () =>
    eachItem(CLASSES, (one) => withMetadata(one, { uid: "another" })),
  "Nodes are read as not Ready since a year": () =>
    eachItem(NODES, (one) =>
      withPart(one, "status", {
        conditions: [
          { type: "Ready", status: "False", lastTransitionTime: "2025-01-01T00:00:00Z" },
        ],
      }),
    ),
  "Nodes are read as too small for their pods": () =>
    eachItem(NODES, (one) => withPart(one, "status", { allocatable: { cpu: "0", pods: "0" } })),
  "all lists of pods tell that each has succeeded": () =>
    unselected(PODS, (one) => withPart(one, "status", { phase: "Succeeded" })),
  "all lists of pods tell that each is on no node": () =>
    unselected(PODS, (one) => withPart(one, "spec", { nodeName: "elsewhere" })),
  "EC2 says of every instance that it is terminated": () =>
    ofCloud((answer) => eachInstance(answer, (one) => ({ ...one, State: { Name: "terminated" } }))),
  "EC2 tells one instance as the answer for each": () =>
    ofCloud((answer) => eachInstance(answer, (one) => ({ ...one, InstanceId: "i-0" }))),
  "EC2 tells no state of any instance": () =>
    ofCloud((answer) => eachInstance(answer, ({ State: _, ...one }) => one)),
  "EC2 answers nothing at all": () => ofCloud(() => undefined),
  "a creation of a NodeClaim arrives and is answered with a timeout": (world) =>
    arriving(world, 504),
  "a creation of a NodeClaim arrives and is answered with nothing": (world) => arriving(world, 200),
};

/** Lists lack every second object, and a read of one object by name gets this answer. */
function byName(
  { box }: TestWorld,
  of: Collection,
  answer: (name: string) => KubeResponse | Promise<KubeResponse>,
): OddFault {
  const { transport } = box.sandbox;
  const anew = everySecond();
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET") return undefined;
    if (what.isWatch) return anew();
    if (what.name !== undefined) return answer(what.name);
    const all = await transport.send(request);
    const body = all.body as Body;
    const items = ((body["items"] ?? []) as readonly Body[]).filter((_, at) => at % 2 === 0);
    return { ...all, body: { ...body, items } };
  };
  return { ...idle(), ...requests(fault) };
}

/** Answers every second watch with 410, so that the kind is listed again. */
function everySecond(): () => KubeResponse | undefined {
  let isSecond = false;
  return () => {
    isSecond = !isSecond;
    return isSecond ? refused(410) : undefined;
  };
}

/** Answers each list of the collection by `answer`, and its watches with 410. */
function answered(of: Collection, answer: () => KubeResponse): OddFault {
  return {
    ...idle(),
    ...requests(async (request) => {
      const what = asked(request);
      if (what?.of !== of || request.method !== "GET" || what.name !== undefined) return undefined;
      return what.isWatch ? refused(410) : answer();
    }),
  };
}

function swapped(world: TestWorld, of: Collection): OddFault {
  return byName(world, of, async (name) => {
    const all = await world.box.sandbox.transport.send({ method: "GET", path: of });
    const { items } = all.body as { readonly items: readonly Body[] };
    const at = items.findIndex(({ metadata }) => (metadata as Body)["name"] === name);
    return at < 0 ? notFound(name) : ok({ ...items[(at + 1) % items.length] });
  });
}

/**
 * Pages of two objects. Every page after the first is refused as expired, with a token to continue from another
 * state.
 */
function torn({ box }: TestWorld, of: Collection): OddFault {
  const { transport } = box.sandbox;
  const anew = everySecond();
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET" || what.name !== undefined) return undefined;
    if (what.isWatch) return anew();
    if (what.query.has("fieldSelector")) return undefined;
    if (what.query.has("continue")) {
      const answer = refused(410);
      return {
        ...answer,
        body: { ...(answer.body as Body), metadata: { continue: "inconsistent" } },
      };
    }
    what.query.set("limit", "2");
    return transport.send({ ...request, path: `${request.path.split("?")[0]}?${what.query}` });
  };
  return { ...idle(), ...requests(fault) };
}

/** The answer changes from request to request: not found, empty, refused, or correct. */
function flapping({ box }: TestWorld, of: Collection): OddFault {
  const { transport } = box.sandbox;
  let asks = 0;
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET") return undefined;
    const turn = ++asks % 4;
    if (what.isWatch) return turn === 0 ? undefined : refused(410);
    if (turn === 1) return refused(404);
    if (turn === 3) return refused(400);
    if (turn === 0 || what.name !== undefined) return undefined;
    const answer = await transport.send(request);
    return { ...answer, body: { ...(answer.body as Body), items: [] } };
  };
  return { ...idle(), ...requests(fault) };
}

/** The watch delivers each object once more, with a deletion timestamp. */
export function deletedByWatch(of: Collection): OddFault {
  let events: readonly unknown[] = [];
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || !what.isWatch || events.length === 0) return undefined;
    const brought = events;
    events = [];
    return { status: 200, headers: {}, stream: openStream(brought) };
  };
  return {
    ...idle(),
    ...requests(fault),
    begin: async (world) => {
      const answer = await world.box.sandbox.transport.send({ method: "GET", path: of });
      events = (answer.body as { readonly items: readonly Body[] }).items.map((one) => ({
        type: "MODIFIED",
        object: {
          apiVersion: of === NODES ? "v1" : "karpenter.sh/v1",
          kind: of === NODES ? "Node" : "NodeClaim",
          ...withMetadata(one, {
            deletionTimestamp: "2026-01-05T08:00:00Z",
            resourceVersion: "9999999",
          }),
        },
      }));
    },
  };
}

/** Each object gets this field's value from the object after it. */
function rotated(of: Collection, part: "spec" | "status", field: string): OddFault {
  return bodyOf(of, (body) => {
    const items = (body["items"] ?? []) as readonly Body[];
    const fieldOf = (one: Body | undefined) => ((one?.[part] ?? {}) as Body)[field];
    const changed = items.map((one, at) =>
      withPart(one, part, { [field]: fieldOf(items[(at + 1) % items.length]) }),
    );
    return { ...body, items: changed };
  });
}

/** Changes lists of all objects, but not those of one node. */
function unselected(of: Collection, change: (one: Body) => Body): OddFault {
  let isSelected = false;
  const all = eachItem(of, (one) => (isSelected ? one : change(one)));
  const { fault } = all.met;
  return {
    ...all,
    met: {
      fault: async (request) => {
        isSelected = asked(request)?.query.has("fieldSelector") ?? false;
        return isSelected ? undefined : fault?.(request);
      },
    },
  };
}

/** The NodeClaim is created, but the answer has this status. With 200 its body is empty. */
function arriving({ box }: TestWorld, status: number): OddFault {
  const { transport } = box.sandbox;
  const faults = requests(async (request) => {
    if (request.method !== "POST" || asked(request)?.of !== CLAIMS) return undefined;
    await transport.send(request);
    return status === 200 ? empty() : refused(status);
  });
  return { moment: "busy", ...faults };
}

function withPart(one: Body, part: "spec" | "status", more: Body): Body {
  return { ...one, [part]: { ...((one[part] ?? {}) as Body), ...more } };
}

function ok(body: unknown): KubeResponse {
  return { status: 200, headers: {}, body };
}

function empty(): KubeResponse {
  return { status: 200, headers: {}, body: undefined };
}

function notFound(name: string): KubeResponse {
  const answer = refused(404);
  return { ...answer, body: { ...(answer.body as Body), details: { name } } };
}

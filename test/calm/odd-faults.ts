/**
 * Faults that are not about one kind, as data for doubts.ts. Pages of a list lack an object. Instances are in odd
 * states. A person edits tags. A server removes fields. A watch reports deletions that did not happen.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeRequest, KubeResponse } from "../../src/kube/transport/transport.ts";
import { AwsError } from "../../src/providers/aws/api/call.ts";
import type { CloudFault, Fault } from "../replicas.ts";
import type { TestWorld } from "../world.ts";
import type { OddFault } from "./doubts.ts";
import { asked, type Collection, openStream } from "./lies.ts";

const CLAIMS: Collection = "/apis/karpenter.sh/v1/nodeclaims";
const NODES: Collection = "/api/v1/nodes";
const HOUR = 3_600_000;

const CLASSES: Collection = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";
const POOLS: Collection = "/apis/karpenter.sh/v1/nodepools";

/** Faults in which lists show changed objects, or the cloud reports other times. */
const MORE_ODD_FAULTS: Readonly<Record<string, (world: TestWorld) => OddFault>> = {
  "NodeClaims are read with other UIDs": () => eachItem(CLAIMS, withOtherUid),
  "Nodes are read with other UIDs": () => eachItem(NODES, withOtherUid),
  "NodeClaims are read as being deleted from its start on": () => ({
    ...eachItem(CLAIMS, asDeleted),
    moment: "start",
  }),
  "Nodes are read as being deleted from its start on": () => ({
    ...eachItem(NODES, (one) => (isOfPool(one) ? asDeleted(one) : one)),
    moment: "start",
  }),
  "NodePools are read as being deleted": () => eachItem(POOLS, asDeleted),
  "EC2NodeClasses are read as being deleted": () => eachItem(CLASSES, asDeleted),
  "NodePools are read under other names": () =>
    eachItem(POOLS, (one) => withMetadata(one, { name: "renamed", uid: "renamed" })),
  "provider IDs of Nodes are read in upper case": () =>
    eachItem(NODES, (one) => {
      const spec = one["spec"] as Body;
      return { ...one, spec: { ...spec, providerID: `${spec["providerID"]}`.toUpperCase() } };
    }),
  "provider IDs of NodeClaims are read in upper case": () =>
    eachItem(CLAIMS, (one) => {
      const status = (one["status"] ?? {}) as Body;
      return { ...one, status: { ...status, providerID: `${status["providerID"]}`.toUpperCase() } };
    }),
  "lists of NodeClaims have a version of long ago": () =>
    bodyOf(CLAIMS, (body) => ({ ...body, metadata: { resourceVersion: "1" } })),
  "lists of Nodes have a version to come": () =>
    bodyOf(NODES, (body) => ({ ...body, metadata: { resourceVersion: "99999999" } })),
  "watches of NodeClaims bring bookmarks of versions to come": () => bookmarked(CLAIMS),
  "watches of Nodes bring bookmarks of versions to come": () => bookmarked(NODES),
  "EC2 says that every instance was launched a year ago": () =>
    launchedAt("2025-01-01T00:00:00.000Z"),
  "EC2 says that every instance is launched in a year": () =>
    launchedAt("2027-01-01T00:00:00.000Z"),
  "EC2 answers with another cluster's instances beside ours": () =>
    ofCloud((answer) => {
      const { Reservations = [], ...rest } = answer as { Reservations?: readonly Body[] };
      const { Reservations: others = [] } = eachInstance(answer, (one) => ({
        ...one,
        InstanceId: `${one["InstanceId"]}f`,
        Tags: ((one["Tags"] ?? []) as readonly Body[]).map((tag) =>
          tag["Key"] === "karpenter.sh/cluster-uid" ? { ...tag, Value: "another" } : tag,
        ),
      })) as { Reservations?: readonly Body[] };
      return { ...rest, Reservations: [...others, ...Reservations] };
    }),
};

/** Faults by title. Each is created again for each cluster. */
export const ODD_FAULTS: Readonly<Record<string, (world: TestWorld) => OddFault>> = {
  "EC2 says of every instance that it is pending, for ever": () => inState("pending"),
  "EC2 says of every instance that it is stopped": () => inState("stopped"),
  "EC2 says of every instance that it is shutting down": () => inState("shutting-down"),
  "EC2 answers with instances of another account": () =>
    ofCloud((answer) =>
      eachInstance(answer, (one) => ({ ...one, InstanceId: `${one["InstanceId"]}f` })),
    ),
  "EC2 answers without any tags": () =>
    ofCloud((answer) => eachInstance(answer, (one) => ({ ...one, Tags: [] }))),
  "EC2 refuses every description": () => ({
    ...idle(),
    ...cloud(async () => {
      throw new AwsError("UnauthorizedOperation", "You are not authorized");
    }),
  }),
  "a person takes the tags off every instance": (world) => retagged(world, () => ({})),
  "a person writes another cluster's UID on every instance": (world) =>
    retagged(world, (tags) => ({ ...tags, "karpenter.sh/cluster-uid": "another" })),
  "a person takes the NodePool's tag off every instance": (world) =>
    retagged(world, ({ "karpenter.sh/nodepool": _, ...tags }) => tags),
  "a page of NodeClaims lacks the object at its end": () => shortPages(CLAIMS),
  "a page of Nodes lacks the object at its end": () => shortPages(NODES),
  "a list of NodeClaims has no items": () => bodyOf(CLAIMS, (body) => ({ ...body, items: null })),
  "NodeClaims are read without their status": () =>
    eachItem(CLAIMS, ({ status: _, ...rest }) => rest),
  "NodeClaims are read without finalizers": () =>
    eachItem(CLAIMS, (one) => withMetadata(one, { finalizers: [] })),
  "NodeClaims are read without labels": () =>
    eachItem(CLAIMS, (one) => withMetadata(one, { labels: {} })),
  "Nodes are read without their provider ID": () =>
    eachItem(NODES, (one) => ({
      ...one,
      spec: { ...(one["spec"] as Body), providerID: undefined },
    })),
  "Nodes are read without labels": () =>
    eachItem(NODES, (one) => withMetadata(one, { labels: {} })),
  "Nodes are read with a creation of an hour to come": () =>
    eachItem(NODES, (one) => withMetadata(one, { creationTimestamp: "2027-01-01T00:00:00Z" })),
  "NodeClaims are read as a year old": () =>
    eachItem(CLAIMS, (one) => withMetadata(one, { creationTimestamp: "2025-01-01T00:00:00Z" })),
  "the status of NodeClaims is no subresource": () => ({
    moment: "busy",
    ...requests(async (request) =>
      request.path.startsWith(CLAIMS) && request.path.split("?")[0]?.endsWith("/status")
        ? refused(404)
        : undefined,
    ),
  }),
  "every write is refused by a webhook": () => ({
    moment: "busy",
    ...requests(async ({ method, path }) =>
      method === "GET" || path.includes("/leases") ? undefined : refused(400),
    ),
  }),
  "a list of NodeClaims in pages skips an object at each page's beginning": () => skipping(CLAIMS),
  "a list of Nodes in pages skips an object at each page's beginning": () => skipping(NODES),
  "a list of Pods in pages skips an object at each page's beginning": () =>
    skipping("/api/v1/pods"),
  "its clock jumps back by an hour": () => jump(-HOUR),
  "its clock jumps ahead by an hour": () => jump(HOUR),
  "its clock jumps ahead by a year": () => jump(365 * 24 * HOUR),
  "a watch tells that every NodeClaim is gone": () => goneByWatch(CLAIMS),
  "a watch tells that every Node is gone": () => goneByWatch(NODES),
  ...MORE_ODD_FAULTS,
};

/** A fault in the middle of a run, while Karpenter has no work. */
export function idle(): Pick<OddFault, "moment"> {
  return { moment: "mid-run" };
}

/** Answers requests with this fault, and counts the changed answers. */
export function requests(fault: Fault): Pick<OddFault, "met" | "told"> {
  let told = 0;
  const counting: Fault = async (request) => {
    const answer = await fault(request);
    if (answer !== undefined) told++;
    return answer;
  };
  return { met: { fault: counting }, told: () => told };
}

function cloud(describe: CloudFault): Pick<OddFault, "met" | "told"> {
  let told = 0;
  const cloudFault: CloudFault = (call, input, go) => {
    if (call !== "ec2.describeInstances") return go();
    told++;
    return describe(call, input, go);
  };
  return { met: { cloudFault }, told: () => told };
}

type Instance = Readonly<Record<string, unknown>>;

/** Changes EC2's descriptions of instances. */
export function ofCloud(change: (answer: unknown) => unknown): OddFault {
  return { ...idle(), ...cloud(async (_, __, go) => change(await go())) };
}

function inState(Name: string): OddFault {
  return ofCloud((answer) => eachInstance(answer, (one) => ({ ...one, State: { Name } })));
}

/** An answer with each instance changed. */
export function eachInstance(answer: unknown, change: (one: Instance) => Instance): unknown {
  const { Reservations = [], ...rest } = answer as {
    readonly Reservations?: readonly { readonly Instances?: readonly Instance[] }[];
  };
  const changed = Reservations.map((one) => ({
    ...one,
    Instances: (one.Instances ?? []).map(change),
  }));
  return { ...rest, Reservations: changed };
}

type Tags = Readonly<Record<string, string>>;

function retagged(world: TestWorld, change: (tags: Tags) => Tags): OddFault {
  const { instances, tags } = world.box.sandbox.aws.state;
  const before = [...instances.keys()].map((id) => [id, new Map(tags.get(id))] as const);
  return {
    ...idle(),
    met: {},
    told: () => before.length,
    begin: () => {
      for (const [id, old] of before)
        tags.set(id, new Map(Object.entries(change(Object.fromEntries(old)))));
    },
    end: () => {
      for (const [id, old] of before) tags.set(id, new Map(old));
    },
  };
}

/** An object of JSON. */
export type Body = Readonly<Record<string, unknown>>;

/** Changes the bodies of lists. Watches begin again. */
export function bodyOf(of: Collection, change: (body: Body) => Body): OddFault {
  let server: TestWorld["box"]["sandbox"]["transport"] | undefined;
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET" || what.name !== undefined) return undefined;
    if (what.isWatch) return once(request);
    const answer = await (server as NonNullable<typeof server>).send(request);
    return { ...answer, body: change(answer.body as Body) };
  };
  const once = relisted();
  return {
    ...idle(),
    ...requests(fault),
    begin: (world) => {
      server = world.box.sandbox.transport;
    },
  };
}

/** Answers the first watch with 410, so that the kind is listed again. */
function relisted(): (request: KubeRequest) => KubeResponse | undefined {
  let isListed = false;
  return () => {
    if (isListed) return undefined;
    isListed = true;
    return refused(410);
  };
}

/** Changes each object of the collection's lists. */
export function eachItem(of: Collection, change: (one: Body) => Body): OddFault {
  return bodyOf(of, (body) => ({ ...body, items: ((body["items"] ?? []) as Body[]).map(change) }));
}

function shortPages(of: Collection): OddFault {
  return bodyOf(of, (body) => ({ ...body, items: ((body["items"] ?? []) as Body[]).slice(0, -1) }));
}

/** Pages of two objects each, with real continue tokens. A later page lacks its first object. */
function skipping(of: Collection): OddFault {
  let server: TestWorld["box"]["sandbox"]["transport"] | undefined;
  const anew = relisted();
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET" || what.name !== undefined) return undefined;
    if (what.isWatch) return anew(request);
    if (what.query.has("fieldSelector")) return undefined;
    what.query.set("limit", "2");
    const path = `${request.path.split("?")[0]}?${what.query}`;
    const answer = await (server as NonNullable<typeof server>).send({ ...request, path });
    if (!what.query.has("continue")) return answer;
    const body = answer.body as Body;
    return { ...answer, body: { ...body, items: ((body["items"] ?? []) as Body[]).slice(1) } };
  };
  return {
    ...idle(),
    ...requests(fault),
    begin: (world) => {
      server = world.box.sandbox.transport;
    },
  };
}

/**
 * Karpenter's clock jumps, and the API server's clock does not. A jump ahead is not combined with `busy`. By the
 * wrong clock, a node that just lost its pod would have waited for its consolidateAfter, although another pod may
 * be bound to it.
 */
function jump(ahead: number): OddFault {
  return { moment: ahead < 0 ? "busy" : "mid-run", met: {}, told: () => 1, ahead };
}

/** The object with these fields of its metadata. */
export function withMetadata(one: Body, more: Body): Body {
  return { ...one, metadata: { ...(one["metadata"] as Body), ...more } };
}

function withOtherUid(one: Body): Body {
  const { uid } = one["metadata"] as Body;
  return withMetadata(one, { uid: `other-${uid}` });
}

function isOfPool({ metadata }: Body): boolean {
  const { labels = {} } = metadata as { readonly labels?: Body };
  return labels["karpenter.sh/nodepool"] !== undefined;
}

function asDeleted(one: Body): Body {
  return withMetadata(one, { deletionTimestamp: "2026-01-05T08:00:00Z" });
}

function launchedAt(LaunchTime: string): OddFault {
  return ofCloud((answer) => eachInstance(answer, (one) => ({ ...one, LaunchTime })));
}

/** The watch sends a bookmark with a version that no object has yet, and then nothing more. */
function bookmarked(of: Collection): OddFault {
  const bookmark = { metadata: { resourceVersion: "99999999" } };
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || !what.isWatch) return undefined;
    const events = [{ type: "BOOKMARK", object: bookmark }];
    return { status: 200, headers: {}, stream: openStream(events) };
  };
  return { ...idle(), ...requests(fault) };
}

/** The watch sends one DELETED event for each object, although none was deleted, and then nothing more. */
function goneByWatch(of: Collection): OddFault {
  let gone: readonly KubeObject[] = [];
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || !what.isWatch || gone.length === 0) return undefined;
    const events = gone.map((object) => ({ type: "DELETED", object }));
    gone = [];
    return { status: 200, headers: {}, stream: openStream(events) };
  };
  return {
    ...idle(),
    ...requests(fault),
    begin: async (world) => {
      const answer = await world.box.sandbox.transport.send({ method: "GET", path: of });
      gone = (answer.body as { readonly items: readonly KubeObject[] }).items.map((one) => ({
        apiVersion: of === NODES ? "v1" : "karpenter.sh/v1",
        kind: of === NODES ? "Node" : "NodeClaim",
        ...one,
      }));
    },
  };
}

/** A Status with this code, as the API server answers a refused request. */
export function refused(code: number): KubeResponse {
  const reason = { 400: "BadRequest", 404: "NotFound", 410: "Expired" }[code] ?? "Unknown";
  const body = {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code,
    reason,
    message: reason,
  };
  return { status: code, headers: {}, body };
}

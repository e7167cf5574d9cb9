/**
 * Odd faults that come from other programs and people. Webhooks rewrite claims. Somebody edits provider IDs and tags,
 * or deletes a pool or class and creates it again. Resource versions go backwards, and watches deliver nothing but
 * bookmarks.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeResponse, KubeStream } from "../../src/kube/transport/transport.ts";
import type { Fault } from "../replicas.ts";
import type { TestWorld } from "../world.ts";
import type { OddFault } from "./doubts.ts";
import { asked, type Collection, openStream } from "./lies.ts";
import { type Body, idle, refused, requests, withMetadata } from "./odd-faults.ts";
import { deletedByWatch } from "./torn-faults.ts";

const CLAIMS: Collection = "/apis/karpenter.sh/v1/nodeclaims";
const POOLS: Collection = "/apis/karpenter.sh/v1/nodepools";
const CLASSES: Collection = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";
const NODES: Collection = "/api/v1/nodes";
const PODS: Collection = "/api/v1/pods";
/** The provider ID of an instance that does not exist. */
const NOBODYS = "aws:///us-west-2a/i-0123456789abcdef0";

/** Faults by title. Each is created again for each cluster. */
export const STRANGER_FAULTS: Readonly<Record<string, (world: TestWorld) => OddFault>> = {
  "a webhook takes the provider ID off each write of a NodeClaim": (world) =>
    rewritten(world, ({ status, ...rest }) => {
      const { providerID: _, ...left } = (status ?? {}) as Body;
      return status === undefined ? rest : { ...rest, status: left };
    }),
  "a webhook takes the finalizers off each write of a NodeClaim": (world) =>
    rewritten(world, (one) => withMetadata(one, { finalizers: undefined })),
  "a webhook takes the conditions off each write of a NodeClaim": (world) =>
    rewritten(world, ({ status, ...rest }) =>
      status === undefined ? rest : { ...rest, status: { ...(status as Body), conditions: [] } },
    ),
  "NodePools are deleted without their claims and made anew": (world) => anew(world, POOLS),
  "EC2NodeClasses are deleted by force and made anew": (world) => anew(world, CLASSES),
  "versions go backwards as after a restore of etcd": backwards,
  "watches of NodeClaims bring bookmarks alone": () => bookmarksAlone(CLAIMS),
  "watches of Nodes bring bookmarks alone": () => bookmarksAlone(NODES),
  "watches of Pods bring bookmarks alone": () => bookmarksAlone(PODS),
  "a person writes another claim's provider ID on a NodeClaim": (world) =>
    edited(world, (claims) => providerIdOf(claims[1])),
  "a person writes an instance that is not there on a NodeClaim": (world) =>
    edited(world, () => NOBODYS),
  "a person writes a managed node's instance on a NodeClaim": (world) =>
    edited(world, () => managedInstance(world)),
  "a person exchanges the tags of all instances": exchangedTags,
  "every second Node and NodeClaim is in no list and not found by its name": denied,
  "watches of Nodes tell that each is being deleted": () => deletedByWatch(NODES),
};

/** Changes Karpenter's writes of claims before they reach the server, as a mutating webhook does. */
function rewritten({ box }: TestWorld, change: (body: Body) => Body): OddFault {
  const { transport } = box.sandbox;
  const faults = requests(async (request) => {
    if (request.method === "GET" || request.method === "DELETE") return undefined;
    if (asked(request)?.of !== CLAIMS || request.body === undefined) return undefined;
    return transport.send({ ...request, body: change(request.body as Body) });
  });
  return { moment: "busy", ...faults };
}

async function listOf({ box }: TestWorld, of: Collection): Promise<readonly KubeObject[]> {
  const answer = await box.sandbox.transport.send({ method: "GET", path: of });
  return (answer.body as { readonly items: readonly KubeObject[] }).items;
}

/** Each object is removed, and another with its name and spec is created at once. */
function anew(world: TestWorld, of: Collection): OddFault {
  const { transport } = world.box.sandbox;
  const patch = { "content-type": "application/merge-patch+json" };
  let made = 0;
  return {
    ...idle(),
    met: {},
    told: () => made,
    begin: async () => {
      for (const one of await listOf(world, of)) {
        const path = `${of}/${one.metadata.name}`;
        const body = { metadata: { finalizers: null } };
        await transport.send({ method: "PATCH", path, headers: patch, body });
        await transport.send({
          method: "DELETE",
          path,
          body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Orphan" },
        });
        for (
          let left = 50;
          left > 0 && (await transport.send({ method: "GET", path })).status !== 404;
          left--
        )
          await world.advance(100);
        const { name, labels, annotations } = one.metadata;
        const fresh = {
          apiVersion: of === POOLS ? "karpenter.sh/v1" : "karpenter.k8s.aws/v1",
          kind: of === POOLS ? "NodePool" : "EC2NodeClass",
          ...one,
          metadata: { name, labels, annotations },
        };
        const answer = await transport.send({ method: "POST", path: of, body: fresh });
        if (answer.status === 201) made++;
        else throw new Error(JSON.stringify(answer.body));
      }
    },
  };
}

/**
 * Everything that this process reads has half of its real resource version. A request with a version from before the
 * fault is refused as too new.
 */
function backwards({ box }: TestWorld): OddFault {
  const { transport } = box.sandbox;
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what === undefined || request.path.includes("/leases")) return undefined;
    if (!what.isWatch)
      return halved(await transport.send({ ...request, body: withoutVersion(request.body) }));
    const all = await transport.send({ method: "GET", path: request.path.split("?")[0] ?? "" });
    const { metadata } = all.body as { readonly metadata: { readonly resourceVersion: string } };
    const from = Number(what.query.get("resourceVersion") ?? 0);
    if (from > half(metadata.resourceVersion)) return tooNew(from);
    if (from > 0) what.query.set("resourceVersion", `${Math.max(1, 2 * (from - 1))}`);
    return halved(
      await transport.send({ ...request, path: `${request.path.split("?")[0]}?${what.query}` }),
    );
  };
  return { ...idle(), ...requests(fault) };
}

function half(version: unknown): number {
  return Math.ceil(Number(version) / 2);
}

function halved(answer: KubeResponse): KubeResponse {
  const { stream } = answer;
  if (stream === undefined) return { ...answer, body: withHalfVersions(answer.body) };
  const lower: KubeStream = {
    close: () => stream.close(),
    async *[Symbol.asyncIterator]() {
      for await (const frame of stream) yield withHalfVersions(frame);
    },
  };
  return { ...answer, stream: lower };
}

function withHalfVersions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withHalfVersions);
  if (typeof value !== "object" || value === null) return value;
  const changed = Object.entries(value).map(([key, one]) =>
    key === "resourceVersion" ? [key, `${half(one)}`] : [key, withHalfVersions(one)],
  );
  return Object.fromEntries(changed);
}

function withoutVersion(body: unknown): unknown {
  const { metadata } = (body ?? {}) as { readonly metadata?: Body };
  if (metadata?.["resourceVersion"] === undefined) return body;
  return withMetadata(body as Body, { resourceVersion: undefined });
}

/** kube-apiserver's answer for a version that it does not have yet. */
function tooNew(version: number): KubeResponse {
  const message = `Timeout: Too large resource version: ${version}`;
  const details = {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
  };
  const answer = refused(504);
  return { ...answer, body: { ...(answer.body as Body), reason: "Timeout", message, details } };
}

/** Watches send bookmarks with the right version, but no events. */
function bookmarksAlone(of: Collection): OddFault {
  let server: TestWorld["box"]["sandbox"]["transport"] | undefined;
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || !what.isWatch || server === undefined) return undefined;
    const answer = await server.send(request);
    return answer.stream === undefined
      ? answer
      : { ...answer, stream: onlyBookmarks(answer.stream) };
  };
  return {
    moment: "busy",
    ...requests(fault),
    begin: (world) => {
      server = world.box.sandbox.transport;
    },
  };
}

function onlyBookmarks(inner: KubeStream): KubeStream {
  return {
    close: () => inner.close(),
    async *[Symbol.asyncIterator]() {
      for await (const frame of inner)
        if ((frame as { type?: string }).type === "BOOKMARK") yield frame;
    },
  };
}

function providerIdOf(claim: KubeObject | undefined): string {
  return (claim as { status?: { providerID?: string } }).status?.providerID ?? "";
}

function managedInstance({ box }: TestWorld): string {
  const { instances } = box.sandbox.aws.state;
  const managed = [...instances.values()].find(({ fleetId }) => fleetId === undefined);
  return managed === undefined ? "" : `aws:///${managed.zone}/${managed.id}`;
}

/** A person edits the status of the first claim, so that it names another instance. */
function edited(world: TestWorld, instead: (claims: readonly KubeObject[]) => string): OddFault {
  const { transport } = world.box.sandbox;
  let first: KubeObject | undefined;
  const write = async (providerID: string): Promise<void> => {
    const answer: KubeResponse = await transport.send({
      method: "PATCH",
      path: `${CLAIMS}/${first?.metadata.name}/status`,
      headers: { "content-type": "application/merge-patch+json" },
      body: { status: { providerID } },
    });
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  };
  return {
    ...idle(),
    met: {},
    told: () => 1,
    begin: async () => {
      const claims = await listOf(world, CLAIMS);
      first = claims[0];
      await write(instead(claims));
    },
    end: () => write(providerIdOf(first)),
  };
}

function exchangedTags({ box }: TestWorld): OddFault {
  const { instances, tags } = box.sandbox.aws.state;
  const ids = [...instances.values()].filter(({ fleetId }) => fleetId).map(({ id }) => id);
  const before = ids.map((id) => new Map(tags.get(id)));
  return {
    ...idle(),
    met: {},
    told: () => ids.length,
    begin: () => {
      for (const [at, id] of ids.entries()) tags.set(id, new Map(before[(at + 1) % ids.length]));
    },
    end: () => {
      for (const [at, id] of ids.entries()) tags.set(id, new Map(before[at]));
    },
  };
}

/** The API server hides some objects consistently: they are missing in lists, and not found by name either. */
function denied({ box }: TestWorld): OddFault {
  const { transport } = box.sandbox;
  const expired = new Set<Collection>();
  const all = async (of: Collection): Promise<readonly Body[]> => {
    const answer = await transport.send({ method: "GET", path: of });
    return (answer.body as { readonly items: readonly Body[] }).items;
  };
  const isHidden = ({ metadata }: Body): boolean => {
    const { labels = {}, name } = metadata as { readonly labels?: Body; readonly name: string };
    return labels["karpenter.sh/nodepool"] !== undefined && hidden.has(name);
  };
  const hidden = new Set<string>();
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what === undefined || ![NODES, CLAIMS].includes(what.of) || request.method !== "GET")
      return undefined;
    if (what.isWatch) {
      const isNew = !expired.has(what.of);
      expired.add(what.of);
      return isNew ? refused(410) : { status: 200, headers: {}, stream: openStream() };
    }
    if (what.name !== undefined)
      return hidden.has(what.name)
        ? {
            ...refused(404),
            body: { ...(refused(404).body as Body), details: { name: what.name } },
          }
        : undefined;
    const answer = await transport.send(request);
    const body = answer.body as Body;
    const items = ((body["items"] ?? []) as readonly Body[]).filter((one) => !isHidden(one));
    return { ...answer, body: { ...body, items } };
  };
  return {
    ...idle(),
    ...requests(fault),
    begin: async () => {
      const claims = await all(CLAIMS);
      for (const claim of claims.filter((_, at) => at % 2 === 0)) {
        hidden.add(`${(claim["metadata"] as Body)["name"]}`);
        hidden.add(`${(claim["status"] as Body)["nodeName"]}`);
      }
    },
  };
}

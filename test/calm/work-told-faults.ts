/**
 * Answers of servers that are well-formed and false, while Karpenter works: versions, UIDs, lists and watches that tell
 * something else of each object, writes that are answered and lost. Also what people do to claims, and two processes
 * that lead at the same time. work-stage.ts plays them.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeResponse } from "../../src/kube/transport/transport.ts";
import { type Fault, type Replica, startReplica } from "../replicas.ts";
import { asked, type Collection, openStream } from "./lies.ts";
import { type Body, refused, withMetadata } from "./odd-faults.ts";
import { CLAIMS, listOf, NODES, PODS, patch } from "./work-faults.ts";
import type { MakeFault, WorkFault, WorkScene } from "./work-stage.ts";

const MINUTE = 60_000;
const KUBE_SYSTEM = "/api/v1/namespaces/kube-system";

/** Faults by title. Each is created again for each cluster. */
export const TOLD_FAULTS: Readonly<Record<string, MakeFault>> = {
  "EC2 answers each fleet with the instances of the first": () => {
    let first: unknown;
    return {
      ...fleets(async (go) => {
        const answer = await go();
        first ??= answer;
        return first;
      }),
      // An instance that no answer named is ended later.
      ends: 2,
      costs: 4,
    };
  },
  "EC2 answers a fleet with a managed instance": ({ world }) => {
    const { instances } = world.box.sandbox.aws.state;
    const managed = [...instances.values()].find(({ fleetId }) => fleetId === undefined);
    return {
      ...fleets(async (go) => {
        const answer = (await go()) as { readonly Instances: readonly Body[] };
        const Instances = answer.Instances.map((one) => ({ ...one, InstanceIds: [managed?.id] }));
        return { ...answer, Instances };
      }),
      ends: 2,
      costs: 20,
      end: () => {
        if (managed?.state !== "running") throw new Error("a managed instance is ended");
      },
    };
  },
  "the API server tells another version at every second request": () => {
    let asks = 0;
    return {
      ...answers(async ({ path }) =>
        path.startsWith("/version") && asks++ % 2 === 0
          ? ok({ major: "1", minor: "33", gitVersion: "v1.33.0" })
          : undefined,
      ),
      lastsMs: 30 * MINUTE,
    };
  },
  "the namespace kube-system has another UID": ({ world }) =>
    answers(async (request) => {
      if (request.method !== "GET" || !request.path.startsWith(KUBE_SYSTEM)) return undefined;
      if (asked(request)?.of !== "/api/v1/namespaces") return undefined;
      const answer = await world.box.sandbox.transport.send(request);
      return { ...answer, body: withMetadata(answer.body as Body, { uid: "another" }) };
    }),
  "evictions are answered with 404": () =>
    answers(async ({ path }) => (path.endsWith("/eviction") ? refused(404) : undefined)),
  "evictions are answered and do nothing": () =>
    answers(async ({ path }) =>
      path.endsWith("/eviction") ? { status: 201, headers: {}, body: {} } : undefined,
    ),
  "deletions are answered and do nothing": () =>
    answers(async ({ method, path }) =>
      method === "DELETE" && [CLAIMS, NODES].some((of) => path.startsWith(of))
        ? ok({ kind: "Status", status: "Success" })
        : undefined,
    ),
  "writes of NodeClaims are answered and lost": ({ world }) =>
    answers(async (request) => {
      if (!/^(?:PUT|PATCH)$/.test(request.method) || asked(request)?.of !== CLAIMS)
        return undefined;
      const path = request.path.replace(/\?.*$/, "").replace(/\/status$/, "");
      return world.box.sandbox.transport.send({ method: "GET", path });
    }),
  "creations of NodeClaims are answered with another one": (scene) => ({
    ...answers(async (request) => {
      if (request.method !== "POST" || asked(request)?.of !== CLAIMS) return undefined;
      await scene.world.box.sandbox.transport.send(request);
      const [other] = await listOf(scene, CLAIMS);
      return { status: 201, headers: {}, body: other };
    }),
    costs: 4,
  }),
  "lists of all pods tell that each is being deleted for an hour": (scene) =>
    listed(scene, PODS, (one) =>
      withMetadata(one, {
        deletionTimestamp: new Date(scene.world.clock.now() - 60 * MINUTE).toISOString(),
        deletionGracePeriodSeconds: 0,
      }),
    ),
  "lists of all pods tell that each is a DaemonSet's": (scene) =>
    listed(scene, PODS, (one) =>
      withMetadata(one, {
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "d", controller: true },
        ],
      }),
    ),
  "lists of all pods tell that each tolerates everything": (scene) =>
    listed(scene, PODS, (one) => ({
      ...one,
      spec: { ...(one["spec"] as Body), tolerations: [{ operator: "Exists" }] },
    })),
  "lists of all pods tell that each is a static pod": (scene) =>
    listed(scene, PODS, (one) =>
      withMetadata(one, {
        ownerReferences: [
          { apiVersion: "v1", kind: "Node", name: "n", uid: "n", controller: true },
        ],
      }),
    ),
  "lists of Nodes tell that each has the taint of disruption": (scene) =>
    listed(scene, NODES, (one) => ({
      ...one,
      spec: {
        ...(one["spec"] as Body),
        taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }],
      },
    })),
  "watches of pods tell that each is gone": (scene) => told(scene, PODS, "DELETED", (one) => one),
  "watches of pods tell that each is being deleted": (scene) =>
    told(scene, PODS, "MODIFIED", (one, resourceVersion) =>
      withMetadata(one, {
        deletionTimestamp: "2026-01-05T08:00:00Z",
        deletionGracePeriodSeconds: 0,
        // The present version of the store. Versions only grow: no server tells one that its store has not reached.
        resourceVersion,
      }),
    ),
  "a list of pods in pages begins again in the middle": (scene) => overlapping(scene, PODS),
  "a list of NodeClaims in pages begins again in the middle": (scene) => overlapping(scene, CLAIMS),
  "a person clears the status of every NodeClaim": (scene) => ({
    begin: async () => {
      for (const { metadata } of await listOf(scene, CLAIMS))
        await clearStatus(scene, metadata.name);
    },
  }),
  "a person takes the labels off every NodeClaim and Node": (scene) => ({
    begin: async () => {
      for (const of of [CLAIMS, NODES])
        for (const { metadata } of await listOf(scene, of))
          await patch(scene, `${of}/${metadata.name}`, {
            metadata: { labels: { "karpenter.sh/nodepool": null } },
          });
    },
  }),
  "two processes lead at the same time": (scene) => {
    let second: Replica | undefined;
    return {
      begin: () => {
        second = startReplica(scene.world, "second", { "leader-election-name": "another" });
      },
      end: () => second?.kill(),
      lastsMs: 12 * MINUTE,
      // Both launch a node for the same pod.
      costs: 3,
      ends: 3,
    };
  },
};

/** A fault that answers fleets by `answer`. `go` makes the real call. */
function fleets(answer: (go: () => Promise<unknown>) => Promise<unknown>): WorkFault {
  return {
    met: { cloudFault: (call, _, go) => (call === "ec2.createFleet" ? answer(go) : go()) },
    lastsMs: 30 * MINUTE,
  };
}

function answers(fault: Fault): WorkFault {
  return { met: { fault } };
}

function ok(body: unknown): KubeResponse {
  return { status: 200, headers: {}, body };
}

/** Answers the first watch with 410, so that the kind is listed again. */
function relistedOnce(): () => KubeResponse | undefined {
  let isListed = false;
  return () => {
    if (isListed) return undefined;
    isListed = true;
    return refused(410);
  };
}

/** Changes each object in lists of all objects. Lists with a field selector are right. */
function listed({ world }: WorkScene, of: Collection, change: (one: Body) => Body): WorkFault {
  const once = relistedOnce();
  return answers(async (request) => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET" || what.name !== undefined) return undefined;
    if (what.isWatch) return once();
    if (what.query.has("fieldSelector")) return undefined;
    const headers = { ...request.headers, accept: "application/json" };
    const answer = await world.box.sandbox.transport.send({ ...request, headers });
    const body = answer.body as Body;
    return { ...answer, body: { ...body, items: ((body["items"] ?? []) as Body[]).map(change) } };
  });
}

/**
 * The watch delivers one event for each object of the default namespace, then nothing more. `change`: makes what is
 * told of an object. Its second argument is the version of the store.
 */
function told(
  scene: WorkScene,
  of: Collection,
  type: string,
  change: (one: Body, storeVersion: string) => Body,
): WorkFault {
  const { transport } = scene.world.box.sandbox;
  let isTold = false;
  return answers(async (request) => {
    const what = asked(request);
    if (what?.of !== of || !what.isWatch || isTold) return undefined;
    isTold = true;
    const { body } = await transport.send({ method: "GET", path: of });
    const { resourceVersion } = (body as { readonly metadata: { resourceVersion: string } })
      .metadata;
    const all = (await listOf(scene, of)).filter(
      ({ metadata }) => metadata.namespace === "default",
    );
    const events = all.map((one) => ({
      type,
      object: change(one as KubeObject as never, resourceVersion),
    }));
    return { status: 200, headers: {}, stream: openStream(events) };
  });
}

/** Pages of two objects. The second page is refused as expired, and its new token leads to the first page again. */
function overlapping({ world }: WorkScene, of: Collection): WorkFault {
  const { transport } = world.box.sandbox;
  const once = relistedOnce();
  let expired = 0;
  return answers(async (request) => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET" || what.name !== undefined) return undefined;
    if (what.isWatch) return once();
    if (what.query.has("fieldSelector")) return undefined;
    if (what.query.get("continue") === "again") what.query.delete("continue");
    else if (what.query.has("continue") && expired++ === 0) {
      const answer = refused(410);
      const body = { ...(answer.body as Body), metadata: { continue: "again" } };
      return { ...answer, body };
    }
    what.query.set("limit", "2");
    return transport.send({ ...request, path: `${request.path.split("?")[0]}?${what.query}` });
  });
}

async function clearStatus({ world }: WorkScene, name: string): Promise<void> {
  const path = `${CLAIMS}/${name}`;
  const { transport } = world.box.sandbox;
  const { body } = await transport.send({ method: "GET", path });
  const { status: _, ...rest } = body as Body;
  const headers = { "content-type": "application/json" };
  const answer = await transport.send({
    method: "PUT",
    path: `${path}/status`,
    headers,
    body: { ...rest, status: {} },
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

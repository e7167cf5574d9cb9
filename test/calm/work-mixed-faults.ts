/**
 * Faults in which two things go wrong together while Karpenter works, as data for work-stage.ts: other tools write
 * between its read and its write, lists are empty at a newer version, EC2 ignores filters, clocks leave a window.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeResponse } from "../../src/kube/transport/transport.ts";
import { type Fault, refusal } from "../replicas.ts";
import { asked, type Collection } from "./lies.ts";
import { type Body, refused } from "./odd-faults.ts";
import {
  CLAIMS,
  listOf,
  makeAgain,
  NODES,
  PODS,
  POOLS,
  patch,
  removeByForce,
} from "./work-faults.ts";
import type { MakeFault, WorkFault, WorkScene } from "./work-stage.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const FINALIZER = "karpenter.sh/termination";

/** Faults by title. Each is created again for each cluster. */
export const MIXED_FAULTS: Readonly<Record<string, MakeFault>> = {
  "EC2 ignores all filters, and the account has other clusters' instances": unfiltered,
  "other tools write NodeClaims and Nodes before each write of Karpenter": outrun,
  ...Object.fromEntries(
    [[CLAIMS], [NODES], [CLAIMS, NODES]].map((of): [string, MakeFault] => [
      `a person takes Karpenter's finalizer off ${of.map(nounOf).join(" and ")} every ten seconds`,
      (scene) => unfinalized(scene, of),
    ]),
  ),
  ...Object.fromEntries(
    [403, 409, 422].map((code): [string, MakeFault] => [
      `each write of a status is refused with ${code} for ten minutes`,
      () => ({
        met: {
          fault: async ({ method, path }) =>
            method !== "GET" && path.split("?")[0]?.endsWith("/status")
              ? refusal(code, "Refused")
              : undefined,
        },
        lastsMs: 10 * MINUTE,
        // A claim whose launch cannot be written is given up after some minutes.
        costs: 2,
        isMute: true,
      }),
    ]),
  ),
  ...Object.fromEntries(
    [CLAIMS, NODES, PODS, POOLS].flatMap((of): [string, MakeFault][] => [
      [`lists of ${nounOf(of)} are empty and of a newer version`, (scene) => emptied(scene, of)],
      [`${nounOf(of)} are listed again as before the work`, (scene) => relisted(scene, of)],
    ]),
  ),
  "Nodes are made anew with each other's provider IDs": exchanged,
  "the clock steps ahead by a day for a minute": () => ({
    ahead: (sinceMs) => (sinceMs < MINUTE ? DAY : 0),
  }),
  "the clock steps back by a day for a minute": () => ({
    ahead: (sinceMs) => (sinceMs < MINUTE ? -DAY : 0),
  }),
  "the clock steps ahead and back by a day every ten seconds": () => ({
    ahead: (sinceMs) => (Math.floor(sinceMs / (10 * SECOND)) % 2 === 0 ? DAY : -DAY),
  }),
  "the clock leaves the window in which a budget allows nothing": windowed,
  "deadlines of NodeClaims are changed to nonsense every ten seconds": (scene) => ({
    during: () =>
      onEach(scene, CLAIMS, () => ({
        metadata: { annotations: { "karpenter.sh/nodeclaim-termination-timestamp": "soon" } },
      })),
    end: () =>
      onEach(scene, CLAIMS, () => ({
        metadata: { annotations: { "karpenter.sh/nodeclaim-termination-timestamp": null } },
      })),
  }),
};

function nounOf(of: Collection): string {
  return of.split("/").at(-1) ?? "";
}

async function onEach(
  scene: WorkScene,
  of: Collection,
  change: (one: KubeObject) => unknown,
): Promise<void> {
  for (const one of await listOf(scene, of))
    await patch(scene, `${of}/${one.metadata.name}`, change(one));
}

/**
 * Each description has all instances of the account: managed nodes, instances of another cluster whose Karpenter
 * writes no cluster UID, and instances without tags. None of them may end, and no managed Node may be touched.
 */
function unfiltered({ world }: WorkScene): WorkFault {
  const { state, api } = world.box.sandbox.aws;
  const { instances, tags } = state;
  const others: string[] = [];
  const managed = [...instances.values()].filter(({ fleetId }) => fleetId === undefined);
  const known = [...instances.values()].filter(({ fleetId }) => fleetId !== undefined);
  let nodes: readonly string[] = [];
  const foreign = (
    id: string,
    of: (typeof known)[number],
    has: Readonly<Record<string, string>>,
  ) => {
    others.push(id);
    instances.set(id, { ...of, id });
    tags.set(id, new Map(Object.entries(has)));
  };
  const managedNodes = async () => {
    const answer = await world.box.sandbox.transport.send({ method: "GET", path: NODES });
    const { items } = answer.body as { readonly items: readonly KubeObject[] };
    return items
      .filter(({ metadata }) => metadata.labels?.["karpenter.sh/nodepool"] === undefined)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.uid ?? "");
  };
  return {
    met: {
      cloudFault: (call, input, go) => {
        if (call !== "ec2.describeInstances" || (input as Body)["Filters"] === undefined)
          return go();
        const { Filters: _, ...rest } = input as Body;
        return api.ec2.describeInstances(rest as never);
      },
    },
    lastsMs: 12 * MINUTE,
    prepare: async () => {
      nodes = await managedNodes();
      for (const [at, one] of known.entries()) {
        foreign(`i-0another${at}`, one, {
          "kubernetes.io/cluster/another": "owned",
          "karpenter.sh/nodepool": "default",
          "karpenter.sh/nodeclaim": tags.get(one.id)?.get("karpenter.sh/nodeclaim") ?? "",
        });
        foreign(`i-0none${at}`, one, {});
      }
    },
    end: async () => {
      const left = new Set(await managedNodes());
      if (nodes.length === 0 || nodes.some((uid) => !left.has(uid)))
        throw new Error("a managed Node is gone or is being deleted");
      for (const id of [...others, ...managed.map((one) => one.id)])
        if (instances.get(id)?.state !== "running") throw new Error(`${id} is ended`);
      for (const id of others) instances.delete(id);
    },
  };
}

/** Between Karpenter's read and its write, another tool writes an annotation, for five minutes. */
function outrun(scene: WorkScene): WorkFault {
  let writes = 0;
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.name === undefined || ![CLAIMS, NODES].includes(what.of)) return undefined;
    if (!["PUT", "PATCH", "DELETE"].includes(request.method)) return undefined;
    await patch(scene, `${what.of}/${what.name}`, {
      metadata: {
        annotations: { "example.com/seen": `${++writes}` },
        labels: { "example.com/seen": `${writes}` },
      },
    });
    return undefined;
  };
  return { met: { fault } };
}

/** A Node whose finalizer is taken off while it drains is gone at once, and its pods with it. */
function unfinalized(scene: WorkScene, from: readonly Collection[]): WorkFault {
  const take = async () => {
    for (const of of from)
      await onEach(scene, of, ({ metadata }) => ({
        metadata: { finalizers: (metadata.finalizers ?? []).filter((one) => one !== FINALIZER) },
      }));
  };
  return { begin: take, during: take };
}

/**
 * Lists say 200, no item, and a version that the store has not reached. Selected lists say the same. What is read by
 * its name is right.
 */
function emptied({ world }: WorkScene, of: Collection): WorkFault {
  const { transport } = world.box.sandbox;
  let isCut = false;
  const fault: Fault = async (request): Promise<KubeResponse | undefined> => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET" || what.name !== undefined) return undefined;
    if (what.isWatch) {
      if (isCut) return undefined;
      isCut = true;
      return refused(410);
    }
    if (what.query.get("fieldSelector")?.includes("metadata.name=")) return undefined;
    const answer = await transport.send({
      ...request,
      headers: { ...request.headers, accept: "application/json" },
    });
    const body = answer.body as { readonly metadata: { readonly resourceVersion: string } };
    const resourceVersion = `${Number(body.metadata.resourceVersion) + 50}`;
    return { ...answer, body: { ...body, metadata: { resourceVersion }, items: [] } };
  };
  return { met: { fault } };
}

/** Every 20 seconds a watch expires, and the list that follows is the one of before the work, with its version. */
function relisted({ world }: WorkScene, of: Collection): WorkFault {
  const { transport } = world.box.sandbox;
  let past: KubeResponse | undefined;
  let expiredMs = Number.NEGATIVE_INFINITY;
  let isOld = false;
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET" || what.name !== undefined) return undefined;
    const nowMs = world.clock.elapsedMs();
    if (what.isWatch) {
      if (nowMs - expiredMs < 20 * SECOND) return undefined;
      expiredMs = nowMs;
      isOld = !isOld;
      return refused(410);
    }
    return isOld && !what.query.has("fieldSelector") ? past : undefined;
  };
  return {
    met: { fault },
    prepare: async () => {
      past = await transport.send({ method: "GET", path: of });
    },
  };
}

/** Each Node is removed by force, and is there again under its name as the Node of the next one's instance. */
function exchanged(scene: WorkScene): WorkFault {
  const idOf = (one: KubeObject | undefined) =>
    (one as { spec?: { providerID?: string } } | undefined)?.spec?.providerID;
  const own = new Map<string, string | undefined>();
  const withId = async (one: KubeObject, providerID: string | undefined) => {
    await removeByForce(scene, NODES, one.metadata.name);
    await makeAgain(scene, NODES, {
      ...one,
      spec: { ...((one as unknown as Body)["spec"] as Body), providerID },
    } as KubeObject);
  };
  return {
    begin: async () => {
      const all = await listOf(scene, NODES);
      for (const one of all) own.set(one.metadata.name, idOf(one));
      for (const [at, one] of all.entries()) await withId(one, idOf(all[(at + 1) % all.length]));
    },
    end: async () => {
      for (const one of await listOf(scene, NODES))
        if (own.has(one.metadata.name)) await withId(one, own.get(one.metadata.name));
    },
  };
}

/** By the true clock the budget allows nothing, so nothing may end, whatever this machine's clock says. */
function windowed(scene: WorkScene): WorkFault {
  const budget = (budgets: unknown) =>
    patch(scene, `${POOLS}/default`, { spec: { disruption: { budgets } } });
  let before: readonly string[] = [];
  const uids = async () => (await listOf(scene, CLAIMS)).map(({ metadata }) => metadata.uid ?? "");
  return {
    ahead: (sinceMs) => (Math.floor(sinceMs / (30 * SECOND)) % 2 === 0 ? 12 * HOUR : -12 * HOUR),
    lastsMs: 10 * MINUTE,
    prepare: async () => {
      const hour = new Date(scene.world.clock.now()).getUTCHours();
      await budget([{ nodes: "0", schedule: `0 ${hour} * * *`, duration: "2h" }]);
      before = await uids();
    },
    end: async () => {
      const after = await uids();
      const ended = before.filter((uid) => !after.includes(uid)).length;
      // A user deletes one claim for the drain.
      const may = scene.work === "drain" ? 1 : 0;
      if (ended > may) throw new Error(`${ended} nodes end although the budget allows none`);
      await budget([{ nodes: "10%" }]);
    },
  };
}

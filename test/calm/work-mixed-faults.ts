/**
 * Faults with answers that are valid but false; work-stage.ts plays them. Lists are empty but have a newer version,
 * or are as before the work. EC2 ignores filters. The status of an object cannot be written. Karpenter's clock is
 * outside of a budget's window.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeResponse } from "../../src/kube/transport/transport.ts";
import { type Fault, refusal } from "../replicas.ts";
import { asked, type Collection } from "./lies.ts";
import { type Body, refused } from "./odd-faults.ts";
import { CLAIMS, CLASSES, listOf, NODES, PODS, POOLS, patch } from "./work-faults.ts";
import type { MakeFault, WorkFault, WorkScene } from "./work-stage.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Faults by title. Each is created again for each cluster. */
export const MIXED_FAULTS: Readonly<Record<string, MakeFault>> = {
  "EC2 ignores all filters, and the account has other clusters' instances": unfiltered,
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
        // Karpenter deletes a claim after some minutes if it cannot write the claim's launch.
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
  ...Object.fromEntries(
    [CLAIMS, NODES, POOLS, CLASSES].map((of): [string, MakeFault] => [
      `${nounOf(of)} that are read by name have another UID than in lists`,
      (scene) => renewed(scene, of),
    ]),
  ),
  "the clock leaves the window in which a budget allows nothing": windowed,
};

function nounOf(of: Collection): string {
  return of.split("/").at(-1) ?? "";
}

/**
 * EC2's descriptions contain all instances of the account: managed nodes, instances of another cluster without a
 * cluster UID in their tags, and instances without tags. None of them may end, and no managed Node may be deleted.
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

/**
 * Lists are answered with 200, no items, and a version that the store has not reached, also lists with a selector.
 * A read of one object by its name is answered correctly.
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

/**
 * Every 20 seconds a watch expires. Every second list after that is the one from before the work, with its old
 * version.
 */
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

/**
 * Each object that is read by its name was deleted and created again, as seems from its UID. Lists and watches have the
 * earlier UID, and deletions by the false UID are refused.
 */
function renewed({ world }: WorkScene, of: Collection): WorkFault {
  const { transport } = world.box.sandbox;
  const fault: Fault = async (request) => {
    const what = asked(request);
    if (what?.of !== of || request.method !== "GET" || what.name === undefined) return undefined;
    const answer = await transport.send(request);
    if (answer.status !== 200) return answer;
    const body = answer.body as KubeObject;
    const metadata = { ...body.metadata, uid: `${body.metadata.uid?.slice(0, -4)}ffff` };
    return { ...answer, body: { ...body, metadata } };
  };
  return { met: { fault }, costs: 2 };
}

/** By the true time, the budget allows no disruption, so no node may end, whatever Karpenter's clock says. */
function windowed(scene: WorkScene): WorkFault {
  const budget = (budgets: unknown) =>
    patch(scene, `${POOLS}/default`, { spec: { disruption: { budgets } } });
  let before: readonly string[] = [];
  const uids = async () => (await listOf(scene, CLAIMS)).map(({ metadata }) => metadata.uid ?? "");
  return {
    ahead: (sinceMs) => (Math.floor(sinceMs / (30 * SECOND)) % 2 === 0 ? 12 * HOUR : -12 * HOUR),
    lastsMs: 10 * MINUTE,
    begin: async () => {
      const hour = new Date(scene.world.clock.now()).getUTCHours();
      await budget([{ nodes: "0", schedule: `0 ${hour} * * *`, duration: "2h" }]);
      before = await uids();
    },
    end: async () => {
      const after = await uids();
      const ended = before.filter((uid) => !after.includes(uid)).length;
      // One claim may end: one that a user deletes, or that a command removes which began before.
      if (ended > 1) throw new Error(`${ended} nodes end although the budget allows none`);
      await budget([{ nodes: "10%" }]);
    },
  };
}

/**
 * Faults that people and programs cause in Kubernetes objects while Karpenter works with these objects;
 * work-stage.ts plays them. Objects are deleted and created again under the same name, finalizers are never
 * removed, and budgets and node classes change.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeRequest } from "../../src/kube/transport/transport.ts";
import type { Collection } from "./lies.ts";
import type { Body } from "./odd-faults.ts";
import type { MakeFault, WorkScene } from "./work-stage.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The path of NodeClaims. */
export const CLAIMS: Collection = "/apis/karpenter.sh/v1/nodeclaims";
/** The path of NodePools. */
export const POOLS: Collection = "/apis/karpenter.sh/v1/nodepools";
/** The path of EC2NodeClasses. */
export const CLASSES: Collection = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";
/** The path of Nodes. */
export const NODES: Collection = "/api/v1/nodes";
/** The path of pods. */
export const PODS: Collection = "/api/v1/pods";
const ATTACHMENTS: Collection = "/apis/storage.k8s.io/v1/volumeattachments";
/** The path of PodDisruptionBudgets of the default namespace. */
export const PDBS: Collection = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const DEFAULT_PODS = "/api/v1/namespaces/default/pods";
const STRANGE = "example.com/strange";

/** Faults by title. Each is created again for each cluster. */
export const WORK_FAULTS: Readonly<Record<string, MakeFault>> = {
  "NodePools are deleted without their claims and made anew": (scene) => ({
    begin: () => anew(scene, POOLS),
  }),
  "NodePools are made anew three times": (scene) => {
    let times = 3;
    return { during: async () => void (times-- > 0 && (await anew(scene, POOLS))) };
  },
  "EC2NodeClasses are deleted by force and made anew": (scene) => ({
    begin: () => anew(scene, CLASSES),
  }),
  "Nodes are deleted by force and made anew": (scene) => ({ begin: () => anew(scene, NODES) }),
  "NodeClaims are deleted by force and made anew": (scene) => ({
    begin: () => anew(scene, CLAIMS),
    // A claim that waited for its instance waits for another one now.
    costs: 2,
  }),
  "a PodDisruptionBudget is made anew every ten seconds": (scene) => ({
    begin: () => create(scene, PDBS, pdb("anew")),
    during: async () => {
      await remove(scene, `${PDBS}/anew`);
      await create(scene, PDBS, pdb("anew"));
    },
    end: () => remove(scene, `${PDBS}/anew`),
  }),
  "pods of a StatefulSet are made anew every ten seconds": (scene) => {
    let times = 12;
    return {
      during: async () => {
        if (times-- > 0)
          for (const name of ["named-0", "named-1"]) await remove(scene, `${DEFAULT_PODS}/${name}`);
      },
    };
  },
  "the NodePool names a class that does not exist": (scene) => referring(scene, { name: "gone" }),
  "the EC2NodeClass is deleted while claims name it, and made again": (scene) => ({
    begin: () => remove(scene, `${CLASSES}/default`),
    end: () => anew(scene, CLASSES),
    // The deletion of a node class ends its NodeClaims. A user wanted that.
    ends: 10,
  }),
  "the EC2NodeClass is Ready and not Ready in turn": (scene) => {
    let isReady = true;
    return {
      during: async () => {
        isReady = !isReady;
        for (const { metadata } of await listOf(scene, CLASSES))
          await setCondition(scene, `${CLASSES}/${metadata.name}`, isReady ? "True" : "False");
      },
    };
  },
  "a PodDisruptionBudget that allows nothing comes and goes": (scene) => {
    let isThere = false;
    return {
      during: async () => {
        if (isThere) await remove(scene, `${PDBS}/flips`);
        else await create(scene, PDBS, pdb("flips"));
        isThere = !isThere;
      },
      end: async () => void (isThere && (await remove(scene, `${PDBS}/flips`))),
    };
  },
  "two PodDisruptionBudgets select each pod for a while": (scene) => ({
    begin: async () => {
      for (const name of ["one", "two"]) await create(scene, PDBS, pdb(name));
    },
    end: async () => {
      for (const name of ["one", "two"]) await remove(scene, `${PDBS}/${name}`);
    },
  }),
  "others put their finalizer on Nodes": (scene) => finalized(scene, NODES),
  "others put their finalizer on NodeClaims": (scene) => finalized(scene, CLAIMS),
  "others put their finalizer on pods": (scene) => finalized(scene, DEFAULT_PODS),
  "volumes are not detached": (scene) => attached(scene),
  "a namespace with pods is being deleted and does not go": (scene) => ({
    begin: async () => {
      await create(scene, "/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "going" },
      });
      await scene.world.advance(1_000);
      await create(scene, "/api/v1/namespaces/going/configmaps", {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "stays", finalizers: [STRANGE] },
      });
      await create(scene, "/api/v1/namespaces/going/pods", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "waits", finalizers: [STRANGE] },
        spec: {
          nodeSelector: { "karpenter.sh/capacity-type": "on-demand" },
          containers: [{ name: "app", image: "app", resources: { requests: { cpu: "100" } } }],
        },
      });
      await remove(scene, "/api/v1/namespaces/going");
    },
    end: async () => {
      for (const path of ["configmaps/stays", "pods/waits"])
        await patch(scene, `/api/v1/namespaces/going/${path}`, { metadata: { finalizers: null } });
    },
  }),
  "claims are as before a restore of yesterday, twice": (scene) => restoredTwice(scene),
  "a person closes every Node": (scene) => {
    const close = async (unschedulable: boolean | null) => {
      for (const { metadata } of await listOf(scene, NODES))
        await patch(scene, `${NODES}/${metadata.name}`, { spec: { unschedulable } });
    };
    // Pods whose node ends by Karpenter's work need new nodes, because the other nodes are cordoned.
    return { begin: () => close(true), end: () => close(null), costs: 3 };
  },
  "a person takes the disruption marks off Nodes and claims": (scene) => ({
    // The replacement of a node that then stays, because its marks were removed.
    costs: 1,
    during: async () => {
      for (const { metadata } of await listOf(scene, NODES))
        await patch(scene, `${NODES}/${metadata.name}`, { spec: { taints: null } });
      for (const { metadata } of await listOf(scene, CLAIMS))
        await patch(scene, `${CLAIMS}/${metadata.name}`, {
          metadata: { annotations: { "karpenter.sh/disruption-command": null } },
        });
    },
  }),
  "a person writes the marks of a command on every NodeClaim": (scene) => ({
    begin: async () => {
      const record = { id: "00000000-0000-4000-8000-000000000000", reason: "Empty", nodes: [] };
      for (const { metadata } of await listOf(scene, CLAIMS))
        await patch(scene, `${CLAIMS}/${metadata.name}`, {
          metadata: {
            annotations: { "karpenter.sh/disruption-command": JSON.stringify(record) },
          },
        });
    },
  }),
  "the clock steps ahead by an hour for a minute": () => ({
    ahead: (sinceMs) => (sinceMs < MINUTE ? HOUR : 0),
  }),
  "the clock steps back by an hour for a minute": () => ({
    ahead: (sinceMs) => (sinceMs < MINUTE ? -HOUR : 0),
  }),
  "the clock steps ahead and back by an hour every ten seconds": () => ({
    ahead: (sinceMs) => (Math.floor(sinceMs / 10_000) % 2 === 0 ? HOUR : -HOUR),
  }),
  "the clock steps by four minutes every ten seconds": () => ({
    ahead: (sinceMs) => (Math.floor(sinceMs / 10_000) % 2 === 0 ? 4 * MINUTE : -4 * MINUTE),
  }),
};

/** Sends a request as administrator. Rejects if it is refused, except with 404 and 409. */
async function send(
  { world }: Pick<WorkScene, "world">,
  request: Pick<KubeRequest, "method" | "path" | "body">,
): Promise<void> {
  const { method, path } = request;
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { "content-type": type };
  const answer = await world.box.sandbox.transport.send({ ...request, headers });
  if (answer.status >= 400 && answer.status !== 404 && answer.status !== 409)
    throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
}

/** Sends the body as a merge patch of the object. */
export function patch(scene: Pick<WorkScene, "world">, path: string, body: unknown): Promise<void> {
  return send(scene, { method: "PATCH", path, body });
}

/** Creates the object in the collection at the path. */
export function create(scene: WorkScene, path: string, body: unknown): Promise<void> {
  return send(scene, { method: "POST", path, body });
}

/** Deletes the object at the path. */
export function remove(scene: WorkScene, path: string, body?: unknown): Promise<void> {
  return send(scene, { method: "DELETE", path, ...(body === undefined ? {} : { body }) });
}

/** The objects of a collection. Of Nodes, only those that Karpenter launched. */
export async function listOf(
  { world }: Pick<WorkScene, "world">,
  path: string,
): Promise<readonly KubeObject[]> {
  const answer = await world.box.sandbox.transport.send({ method: "GET", path });
  const { items, kind, apiVersion } = answer.body as {
    readonly items: readonly KubeObject[];
    readonly kind: string;
    readonly apiVersion: string;
  };
  const all = items.map((one) => ({ apiVersion, kind: kind.replace(/List$/, ""), ...one }));
  return path === NODES ? all.filter(isKarpenters) : all;
}

function isKarpenters({ metadata }: KubeObject): boolean {
  return metadata.labels?.["karpenter.sh/nodepool"] !== undefined;
}

/** Removes each object, even if it has finalizers, and at once creates another with its name, spec and status. */
async function anew(scene: WorkScene, of: Collection): Promise<void> {
  for (const one of await listOf(scene, of)) {
    await removeByForce(scene, of, one.metadata.name);
    await makeAgain(scene, of, one);
  }
}

/** Deletes the object, even if it has finalizers, and waits until it is gone. */
export async function removeByForce(scene: WorkScene, of: Collection, name: string): Promise<void> {
  await patch(scene, `${of}/${name}`, { metadata: { finalizers: null } });
  await remove(scene, `${of}/${name}`, {
    kind: "DeleteOptions",
    apiVersion: "v1",
    propagationPolicy: "Orphan",
  });
  // The garbage collector of Kubernetes removes the finalizer `orphan` after a moment.
  for (let left = 50; left > 0; left--) {
    if (!(await listOf(scene, of)).some(({ metadata }) => metadata.name === name)) return;
    await scene.world.advance(100);
  }
}

/** Creates the object again, with its name, labels, annotations, spec and status. */
export async function makeAgain(scene: WorkScene, of: Collection, one: KubeObject): Promise<void> {
  const { name, labels, annotations, finalizers = [] } = one.metadata;
  const own = finalizers.filter((finalizer) => finalizer.startsWith("karpenter"));
  const metadata = { name, labels, annotations, ...(of === CLAIMS ? { finalizers: own } : {}) };
  await create(scene, of, { ...one, metadata });
  const { status } = one as { readonly status?: Body };
  if (status !== undefined) await patch(scene, `${of}/${name}/status`, { status });
}

function referring(scene: WorkScene, nodeClassRef: Body) {
  const refer = (ref: Body) =>
    patch(scene, `${POOLS}/default`, { spec: { template: { spec: { nodeClassRef: ref } } } });
  const own = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
  return { begin: () => refer({ ...own, ...nodeClassRef }), end: () => refer(own) };
}

async function setCondition(scene: WorkScene, path: string, status: string): Promise<void> {
  const lastTransitionTime = new Date(scene.world.clock.now()).toISOString();
  const more = { reason: "Flapping", message: "by hand", lastTransitionTime };
  await patch(scene, `${path}/status`, {
    status: { conditions: [{ type: "Ready", status, ...more }] },
  });
}

/** A PodDisruptionBudget that allows no disruption of the pods. */
export function pdb(name: string) {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace: "default" },
    spec: {
      maxUnavailable: 0,
      selector: { matchExpressions: [{ key: "app", operator: "Exists" }] },
    },
  };
}

/** Objects have a finalizer of another program until the fault ends. */
function finalized(scene: WorkScene, of: string) {
  const set = async (change: (finalizers: readonly string[]) => readonly string[]) => {
    for (const { metadata } of await listOf(scene, of))
      await patch(scene, `${of}/${metadata.name}`, {
        metadata: { finalizers: change(metadata.finalizers ?? []) },
      });
  };
  return {
    lastsMs: 12 * MINUTE,
    // Finalizers cannot be added to an object that is being deleted, so they are added before the work begins.
    prepare: () => set((all) => [...all, STRANGE]),
    end: () => set((all) => all.filter((one) => one !== STRANGE)),
  };
}

/** A volume that no pod uses is attached to each Node. It is not detached until the fault ends. */
function attached(scene: WorkScene) {
  const names: string[] = [];
  return {
    lastsMs: 12 * MINUTE,
    begin: async () => {
      for (const { metadata } of await listOf(scene, NODES)) {
        const name = `attachment-${metadata.name}`;
        names.push(name);
        await create(scene, ATTACHMENTS, {
          apiVersion: "storage.k8s.io/v1",
          kind: "VolumeAttachment",
          metadata: { name, finalizers: [STRANGE] },
          spec: {
            attacher: "csi.example.com",
            nodeName: metadata.name,
            source: { persistentVolumeName: `volume-${metadata.name}` },
          },
        });
      }
    },
    end: async () => {
      for (const name of names) await removeByForce(scene, ATTACHMENTS, name);
    },
  };
}

/**
 * Restores claims and Nodes twice to their state before the work, as a backup tool does. Newer objects are removed.
 * Deleted ones are created again with new UIDs.
 */
function restoredTwice(scene: WorkScene) {
  let past: readonly (readonly [Collection, readonly KubeObject[]])[] = [];
  let times = 0;
  const restore = async () => {
    for (const [of, objects] of past) {
      const names = new Set(objects.map(({ metadata }) => metadata.name));
      for (const { metadata } of await listOf(scene, of))
        if (!names.has(metadata.name)) await removeByForce(scene, of, metadata.name);
      for (const one of objects) await makeAgain(scene, of, one);
    }
  };
  return {
    lastsMs: 10 * MINUTE,
    // `prepare` runs before the work begins, so these are the objects to restore.
    prepare: async () => {
      past = [
        [CLAIMS, await listOf(scene, CLAIMS)],
        [NODES, await listOf(scene, NODES)],
      ];
    },
    during: async () => {
      times++;
      if (times === 9 || times === 30) await restore();
    },
    // Claims that the restore removed leave their instances without a claim. These instances end, and their pods
    // need others.
    ends: 6,
  };
}

/**
 * Faults of a hostile production while Karpenter works: one replica of the API server is minutes behind, a watch skips
 * one event, EC2 protects an instance, somebody copies a NodeClaim, messages are replayed. work-stage.ts plays them.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { KubeResponse } from "../../src/kube/transport/transport.ts";
import { AwsError } from "../../src/providers/aws/api/call.ts";
import type { CloudFault } from "../replicas.ts";
import { asked, type Collection } from "./lies.ts";
import { type Body, refused } from "./odd-faults.ts";
import {
  CLAIMS,
  CLASSES,
  create,
  listOf,
  makeAgain,
  NODES,
  PDBS,
  patch,
  pdb,
  remove,
  removeByForce,
} from "./work-faults.ts";
import type { MakeFault, WorkFault, WorkScene } from "./work-stage.ts";
import { twisted } from "./work-wire-faults.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Faults by title. Each is created again for each cluster. */
export const HOSTILE_FAULTS: Readonly<Record<string, MakeFault>> = {
  "one of two replicas of the API server is three minutes behind": behind,
  "a watch of NodeClaims skips the first change of each": (scene) => skipping(scene, CLAIMS),
  "a watch of Nodes skips the first change of each": (scene) => skipping(scene, NODES),
  "the API server's clock is an hour behind at every second answer": ({ world }) => {
    let answers = 0;
    return {
      met: {
        fault: async (request) => {
          const { isWatch = false } = asked(request) ?? {};
          if (isWatch || answers++ % 2 === 0) return undefined;
          const answer = await world.box.sandbox.transport.send(request);
          const date = new Date(world.clock.now() - HOUR).toUTCString();
          return { ...answer, headers: { ...answer.headers, date } };
        },
      },
      lastsMs: 12 * MINUTE,
    };
  },
  "EC2 answers with copies of our instances, with the same tags": () => copies(),
  "EC2 refuses to terminate one instance of each call": () => {
    let guarded: string | undefined;
    return {
      ...calls("ec2.terminateInstances", async (input, go) => {
        const { InstanceIds } = input as { readonly InstanceIds: readonly string[] };
        guarded ??= InstanceIds[0];
        if (guarded === undefined || !InstanceIds.includes(guarded)) return go();
        throw new AwsError("OperationNotPermitted", `${guarded} has termination protection`);
      }),
      lastsMs: 12 * MINUTE,
    };
  },
  "somebody copies each NodeClaim with its status": (scene) => ({
    begin: async () => {
      for (const one of await listOf(scene, CLAIMS)) {
        const metadata = { ...one.metadata, name: `${one.metadata.name}-copy` };
        await makeAgain(scene, CLAIMS, { ...one, metadata });
      }
    },
    end: async () => {
      for (const { metadata } of await listOf(scene, CLAIMS))
        if (metadata.name.endsWith("-copy")) await remove(scene, `${CLAIMS}/${metadata.name}`);
    },
  }),
  "kubelets make their Nodes anew in the middle of a drain": (scene) => {
    let times = 3;
    return {
      during: async () => {
        const nodes = (await listOf(scene, NODES)).filter(isLeaving);
        if (nodes.length === 0 || times-- <= 0) return;
        for (const one of nodes) {
          await removeByForce(scene, NODES, one.metadata.name);
          await makeAgain(scene, NODES, one);
        }
      },
    };
  },
  "another Node has the provider ID of each Node": (scene) => ({
    begin: async () => {
      for (const one of await listOf(scene, NODES)) {
        const { name } = one.metadata;
        const { providerID } = (one as { readonly spec?: Body }).spec ?? {};
        const metadata = { name: `twin-${name}` };
        await create(scene, NODES, {
          apiVersion: "v1",
          kind: "Node",
          metadata,
          spec: { providerID },
        });
      }
    },
    end: async () => {
      const { transport } = scene.world.box.sandbox;
      const { body } = await transport.send({ method: "GET", path: NODES });
      for (const { metadata } of (body as { readonly items: readonly KubeObject[] }).items)
        if (metadata.name.startsWith("twin-")) {
          await patch(scene, `${NODES}/${metadata.name}`, { metadata: { finalizers: null } });
          await remove(scene, `${NODES}/${metadata.name}`);
        }
    },
  }),
  "the finalizer of the EC2NodeClass is removed by hand, and it is deleted for some minutes": (
    scene,
  ) => {
    let classes: readonly KubeObject[] = [];
    return {
      begin: async () => {
        classes = await listOf(scene, CLASSES);
        for (const { metadata } of classes) await removeByForce(scene, CLASSES, metadata.name);
      },
      end: async () => {
        for (const one of classes) await makeAgain(scene, CLASSES, one);
      },
    };
  },
  "a PodDisruptionBudget that allows nothing appears with each eviction": (scene) => ({
    met: {
      fault: async ({ path }) => {
        if (path.includes("/eviction")) await create(scene, PDBS, pdb("late"));
        return undefined;
      },
    },
    lastsMs: 12 * MINUTE,
    end: () => remove(scene, `${PDBS}/late`),
  }),
  "messages tell of interruptions of foreign instances": (scene) =>
    told(scene, () => ["i-0123456789abcdef0", "i-0fedcba9876543210"], { ends: 0 }),
  "a message of an interruption is replayed every ten seconds": (scene) => {
    let id: string | undefined;
    return told(
      scene,
      () => {
        id ??= living(scene)[0];
        return id === undefined ? [] : [id];
      },
      { ends: 1 },
    );
  },
  "messages tell that instances are interrupted while they are being launched": (scene) => {
    const before = new Set(living(scene));
    let left = 2;
    return told(scene, () => living(scene).filter((id) => !before.has(id) && left-- > 0), {
      ends: 2,
      costs: 2,
    });
  },
  "writes of Nodes are answered and lost": ({ world }) => ({
    met: {
      fault: async (request) => {
        if (!/^(?:PUT|PATCH)$/.test(request.method) || asked(request)?.of !== NODES)
          return undefined;
        const path = request.path.replace(/\?.*$/, "").replace(/\/status$/, "");
        return world.box.sandbox.transport.send({ method: "GET", path });
      },
    },
    lastsMs: 12 * MINUTE,
    // A replacement whose Node cannot be registered for ten minutes is given up, and launched again later.
    costs: 1,
  }),
  "deletions of Nodes are refused with 403": () => refusals(NODES),
  "deletions of NodeClaims are refused with 403": () => refusals(CLAIMS),
  "a DaemonSet's pod without a controller and a pod without owner are on each Node": (scene) => {
    const path = "/api/v1/namespaces/default/pods";
    const names: string[] = [];
    return {
      prepare: async () => {
        for (const { metadata } of await listOf(scene, NODES))
          for (const [at, owner] of [[], [{ ...DAEMON, controller: false }]].entries()) {
            const name = `bare-${at}-${metadata.name}`.slice(0, 60).replace(/\W+$/, "");
            names.push(name);
            await create(scene, path, bare(name, metadata.name, owner));
          }
        await scene.world.advance(10_000);
      },
      end: async () => {
        for (const name of names) await remove(scene, `${path}/${name}`);
      },
    };
  },
};

const DAEMON = { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "d" };

function bare(name: string, nodeName: string, ownerReferences: readonly unknown[]) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ownerReferences },
    spec: { nodeName, containers: [{ name: "app", image: "app" }] },
  };
}

function isLeaving({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** A fault that answers calls of this name by `answer`. `go` makes the real call. */
function calls(
  name: string,
  answer: (input: unknown, go: () => Promise<unknown>) => Promise<unknown>,
): WorkFault {
  const cloudFault: CloudFault = (call, input, go) => (call === name ? answer(input, go) : go());
  return { met: { cloudFault } };
}

/** Every second read gets an answer of up to three minutes ago. Watches are right. */
function behind({ world }: WorkScene): WorkFault {
  const past = new Map<string, { readonly atMs: number; readonly answer: KubeResponse }>();
  let reads = 0;
  return {
    met: {
      fault: async (request) => {
        const what = asked(request);
        if (what === undefined || request.method !== "GET" || what.isWatch) return undefined;
        if (request.path.includes("/leases")) return undefined;
        const known = past.get(request.path);
        const nowMs = world.clock.now();
        if (known === undefined || nowMs - known.atMs > 3 * MINUTE) {
          const headers = { ...request.headers, accept: "application/json" };
          const answer = await world.box.sandbox.transport.send({ ...request, headers });
          past.set(request.path, { atMs: nowMs, answer });
          return undefined;
        }
        return reads++ % 2 === 0 ? known.answer : undefined;
      },
    },
    lastsMs: 12 * MINUTE,
  };
}

/** Watches of the kind leave out the first change of each object. */
function skipping(scene: WorkScene, of: Collection): WorkFault {
  const seen = new Set<string>();
  return twisted(scene, of, (event) => {
    const { name = "" } = event.object.metadata;
    if (event.type !== "MODIFIED" || seen.has(name)) return [event];
    seen.add(name);
    return [];
  });
}

/** EC2's lists have each instance twice, under another ID. A termination of such a copy is refused. */
function copies(): WorkFault {
  const isCopy = (id: string) => id.startsWith("i-c0");
  const copied = (id: string) => `i-c0${id.slice(4)}`;
  const cloudFault: CloudFault = async (call, input, go) => {
    const { InstanceIds } = input as { readonly InstanceIds?: readonly string[] };
    if (call === "ec2.terminateInstances" && InstanceIds?.some(isCopy))
      throw new AwsError("UnauthorizedOperation", "the instance is of another account");
    const answer = await go();
    if (call !== "ec2.describeInstances" || InstanceIds !== undefined) return answer;
    const { Reservations } = answer as {
      readonly Reservations: readonly { readonly Instances: readonly { InstanceId: string }[] }[];
    };
    const twice = Reservations.map(({ Instances, ...rest }) => ({
      ...rest,
      Instances: Instances.flatMap((one) => [one, { ...one, InstanceId: copied(one.InstanceId) }]),
    }));
    return { ...(answer as object), Reservations: twice };
  };
  return { met: { cloudFault }, lastsMs: 12 * MINUTE };
}

function refusals(of: Collection): WorkFault {
  return {
    met: {
      fault: async (request) =>
        request.method === "DELETE" && asked(request)?.of === of ? refused(403) : undefined,
    },
    lastsMs: 15 * MINUTE,
  };
}

/** IDs of Karpenter's instances that are pending or running. */
function living({ world }: WorkScene): readonly string[] {
  return [...world.box.sandbox.aws.state.instances.values()]
    .filter(({ fleetId, state }) => fleetId !== undefined && /pending|running/.test(state))
    .map(({ id }) => id);
}

/** Every ten seconds the queue has a message about each of these instances. */
function told(
  { world }: WorkScene,
  ids: () => readonly string[],
  may: Pick<WorkFault, "ends" | "costs">,
): WorkFault {
  const { state } = world.box.sandbox.aws;
  return {
    during: () => {
      for (const id of ids())
        for (const queue of state.queues.values())
          queue.send(
            JSON.stringify({
              version: "0",
              id: `again-${id}`,
              source: "aws.ec2",
              "detail-type": "EC2 Spot Instance Interruption Warning",
              account: state.accountId,
              region: state.region,
              time: new Date(world.clock.now()).toISOString(),
              resources: [`arn:aws:ec2:${state.region}:${state.accountId}:instance/${id}`],
              detail: { "instance-id": id, "instance-action": "terminate" },
            }),
          );
    },
    ...may,
  };
}

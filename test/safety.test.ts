/**
 * No instance is terminated on uncertain information. Each test removes or falsifies something that an irreversible act
 * relies on, while pods run. From outside, every instance and every pod must still be there. The table of acts is
 * docs/explanation/safety.md.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION } from "../src/apis/core/custom-resource-definition.ts";
import { NODE, type Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { condition } from "../src/apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../src/apis/karpenter/nodepool.ts";
import type { Kind, KubeObject } from "../src/apis/meta.ts";
import { AwsError } from "../src/providers/aws/api/call.ts";
import { asked } from "./calm/lies.ts";
import { type Fault, type Replica, startReplica } from "./replicas.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const MINUTE = 60_000;
const EXAMPLES = fileURLToPath(new URL("../examples/", import.meta.url));
const POOL = readFileSync(`${EXAMPLES}v1/nodepool.yaml`, "utf8");
/** The pods may run only on Karpenter's nodes, because the managed node group has room too. */
const INFLATE = readFileSync(`${EXAMPLES}inflate.yaml`, "utf8").replace(
  "      containers:",
  "      nodeSelector: { karpenter.sh/nodepool: default }\n      containers:",
);

interface Definition extends KubeObject {
  readonly spec: { readonly versions: readonly { readonly name: string; served: boolean }[] };
}

let world: TestWorld;
let karpenter: Replica;

beforeEach(async () => {
  world = await openWorld({ sells: isUsual });
  await world.box.operator.stop();
  await world.apply(POOL);
  await world.apply(INFLATE);
  karpenter = startReplica(world, "karpenter");
  await world.until("it leads", () => karpenter.operator.ready);
  await world.scale("inflate", 6);
  await world.until("6 pods run", async () => (await running()).length === 6, 10 * MINUTE);
});
afterEach(async () => {
  karpenter.kill();
  await world.close();
});

/** The UIDs of the running pods. */
async function running(): Promise<readonly string[]> {
  const pods = await world.list<Pod>("Pod", "v1", "app=inflate");
  return pods
    .filter(({ status }) => status?.phase === "Running")
    .map(({ metadata }) => metadata.uid ?? "")
    .sort();
}

function instances(): readonly string[] {
  return [...world.box.sandbox.aws.state.instances.values()]
    .filter(({ fleetId }) => fleetId !== undefined)
    .filter(({ state }) => state === "running" || state === "pending")
    .map(({ id }) => id)
    .sort();
}

/** Two sweeps of the garbage collectors, which act more seldom than all other controllers. */
const LONG_ENOUGH = 5 * MINUTE;

/** Expects the same instances and pods while `fault` lasts and after `mend`. */
async function expectNothingEnds(fault: () => Promise<void>, mend: () => Promise<void>) {
  const before = { instances: instances(), pods: await running() };
  expect(before.instances.length).toBeGreaterThan(0);
  await fault();
  expect({ instances: instances(), pods: await running() }).toEqual(before);
  await mend();
  await world.advance(LONG_ENOUGH);
  expect({ instances: instances(), pods: await running() }).toEqual(before);
}

async function serve(definition: string, served: boolean): Promise<void> {
  const crd = await world.client.get(CUSTOM_RESOURCE_DEFINITION, { name: definition });
  const { spec } = crd as Definition;
  const versions = spec.versions.map((one) => (one.name === "v1" ? { ...one, served } : one));
  await world.client.update(CUSTOM_RESOURCE_DEFINITION, {
    ...crd,
    spec: { ...spec, versions },
  } as Definition);
}

/** Removes all claims without ending their machines, as a restored etcd does, or a user who removes finalizers. */
async function forgetClaims(): Promise<void> {
  for (const one of await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1"))
    await forget(NODE_CLAIM as Kind, one);
}

async function forget(kind: Kind, { metadata: { name } }: KubeObject): Promise<void> {
  const body = { metadata: { finalizers: null } };
  await world.client.patch(kind, { name }, { type: "merge", body });
  await world.client.delete(kind, { name });
}

describe("a kind that is not served for a while", () => {
  it.each([
    "nodeclaims.karpenter.sh",
    "nodepools.karpenter.sh",
    "ec2nodeclasses.karpenter.k8s.aws",
  ])("%s: ends nothing mid-run", async (definition) => {
    await expectNothingEnds(
      async () => {
        await serve(definition, false);
        await world.advance(LONG_ENOUGH);
      },
      () => serve(definition, true),
    );
  });

  it("ends nothing when the controller starts meanwhile, and logs what it waits for", async () => {
    await expectNothingEnds(
      async () => {
        await serve("nodeclaims.karpenter.sh", false);
        karpenter.kill();
        await world.advance(MINUTE);
        karpenter = startReplica(world, "another");
        await world.advance(LONG_ENOUGH);
        expect(karpenter.operator.ready).toBe(false);
        expect(karpenter.log.join("\n")).toContain("kind is not served, waiting for it");
      },
      () => serve("nodeclaims.karpenter.sh", true),
    );
  });
});

describe("lists that lack objects from the start of a process", () => {
  /** The server's lists without the objects that `isLacking` picks. Watches and reads by name are right. */
  const lacking =
    (of: string, isLacking: (at: number) => boolean): Fault =>
    async (request) => {
      const what = asked(request);
      if (what?.of !== of || request.method !== "GET" || what.isWatch) return undefined;
      if (what.name !== undefined || request.path.includes("metadata.name")) return undefined;
      const headers = { ...request.headers, accept: "application/json" };
      const { takesBytes: _, ...asJson } = request;
      const answer = await world.box.sandbox.transport.send({ ...asJson, headers });
      const body = answer.body as { readonly items: readonly KubeObject[] };
      return { ...answer, body: { ...body, items: body.items.filter((_, at) => !isLacking(at)) } };
    };

  it.each([
    ["all pods", "/api/v1/pods", () => true],
    ["all but the first pod", "/api/v1/pods", (at: number) => at > 0],
    ["all Nodes", "/api/v1/nodes", () => true],
    ["all NodeClaims", "/apis/karpenter.sh/v1/nodeclaims", () => true],
  ])(
    "%s: the process waits, says why, and a drain that was asked for comes later",
    async (_, of, isLacking) => {
      const [claim] = await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
      const before = { instances: instances(), pods: await running() };
      karpenter.kill();
      await world.advance(MINUTE);
      karpenter = startReplica(world, "misled", {}, () => 0, { fault: lacking(of, isLacking) });
      await world.advance(MINUTE);
      await world.client.delete(NODE_CLAIM, { name: claim?.metadata.name ?? "" });
      await world.advance(LONG_ENOUGH);
      expect({ instances: instances(), pods: await running() }).toEqual(before);
      expect(karpenter.log.join("\n")).toContain(
        "list lacks an object that the API server has by name",
      );
      karpenter.meet(undefined);
      const id = claim?.status?.providerID?.split("/").at(-1) ?? "";
      await world.until("the node has ended", () => !instances().includes(id), 20 * MINUTE);
      await world.until("6 pods run", async () => (await running()).length === 6, 10 * MINUTE);
    },
  );
});

describe("a cloud that reports less than exists", () => {
  const notFound = () => {
    throw new AwsError("InvalidInstanceID.NotFound", "The instance ID does not exist");
  };

  it.each([
    ["lists nothing", () => ({ Reservations: [] }), undefined],
    [
      "lists nothing and knows no instance, as in another account",
      () => ({ Reservations: [] }),
      notFound,
    ],
    ["refuses to list", () => notFound(), undefined],
  ] as const)("%s: ends nothing", async (_, list, byId) => {
    await expectNothingEnds(
      async () => {
        karpenter.meetCloud(async (call, input, go) => {
          if (call !== "ec2.describeInstances") return go();
          const isById = (input as { InstanceIds?: unknown }).InstanceIds !== undefined;
          if (isById) return byId === undefined ? go() : byId();
          return list();
        });
        await world.advance(LONG_ENOUGH);
      },
      async () => karpenter.meetCloud(undefined),
    );
  });
});

describe("a clock that is wrong", () => {
  it.each([400 * 24 * 60 * MINUTE, -400 * 24 * 60 * MINUTE, -60 * MINUTE, 60 * MINUTE])(
    "by %d ms expires nothing",
    async (ms) => {
      await expectNothingEnds(
        async () => {
          karpenter.kill();
          await world.advance(MINUTE);
          karpenter = startReplica(world, "of-another-time", {}, () => ms);
          await world.until("it leads", () => karpenter.operator.ready);
          await world.advance(LONG_ENOUGH);
        },
        async () => {
          karpenter.kill();
          await world.advance(MINUTE);
          karpenter = startReplica(world, "on-time");
        },
      );
    },
  );
});

describe("changes by a user", () => {
  it.each([
    ["some", ["karpenter.sh/nodepool", "karpenter.sh/cluster-uid"]],
    ["all", undefined],
  ] as const)("remove %s tags from instances: nothing ends", async (_, keys) => {
    const { tags } = world.box.sandbox.aws.state;
    const before = instances().map((id) => [id, new Map(tags.get(id))] as const);
    await expectNothingEnds(
      async () => {
        for (const [id, all] of before)
          for (const key of keys ?? all.keys()) expect(tags.get(id)?.delete(key)).toBe(true);
        await world.advance(LONG_ENOUGH);
      },
      async () => {
        for (const [id, all] of before)
          for (const [key, value] of all) tags.get(id)?.set(key, value);
      },
    );
  });

  it("create a second Node and a second claim of one instance, and delete them: nothing ends", async () => {
    const [claim] = await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
    const [node] = await world.list<Node>("Node", "v1", "karpenter.sh/nodepool");
    const { labels = {} } = claim?.metadata ?? {};
    // Consolidation is off: its moves would hide what this test looks for.
    const body = { spec: { disruption: { consolidateAfter: "Never" } } };
    await world.client.patch(NODE_POOL, { name: "default" }, { type: "merge", body });
    await expectNothingEnds(
      async () => {
        await world.client.create(NODE, {
          metadata: {
            name: "twin",
            labels: node?.metadata.labels ?? {},
            finalizers: ["karpenter.sh/termination"],
          },
          spec: { providerID: node?.spec?.providerID ?? "" },
        });
        await world.client.create(NODE_CLAIM, {
          metadata: { name: "twin", labels, finalizers: ["karpenter.sh/termination"] },
          spec: claim?.spec,
        } as NodeClaim);
        await world.client.patch(
          NODE_CLAIM as Kind,
          { name: "twin" },
          { type: "merge", body: { status: { ...claim?.status } } },
          "status",
        );
        const { status } = await world.get<NodeClaim>("NodeClaim", "twin", "karpenter.sh/v1");
        expect(status?.providerID).toBe(claim?.status?.providerID);
        await world.advance(LONG_ENOUGH);
      },
      async () => {
        await world.client.delete(NODE_CLAIM as Kind, { name: "twin" });
        await world.client.delete(NODE as Kind, { name: "twin" });
      },
    );
  });
});

describe("the definition of NodeClaims is deleted", () => {
  it("ends nothing until a user confirms it", async () => {
    const before = instances();
    const pods = await running();
    const name = "nodeclaims.karpenter.sh";
    await world.client.delete(CUSTOM_RESOURCE_DEFINITION, { name });
    await world.advance(LONG_ENOUGH);
    expect({ instances: instances(), pods: await running() }).toEqual({ instances: before, pods });
    const annotations = { "karpenter.sh/confirm-deletion": "true" };
    await world.client.patch(
      CUSTOM_RESOURCE_DEFINITION,
      { name },
      { type: "merge", body: { metadata: { annotations } } },
    );
    await world.until("all have ended", () => instances().length === 0, 30 * MINUTE);
  });

  it("and its claims lose their finalizers: no Node is drained before replacements can be created", async () => {
    const before = { instances: instances(), pods: await running() };
    const name = "nodeclaims.karpenter.sh";
    const { metadata: _, ...again } = await world.client.get(CUSTOM_RESOURCE_DEFINITION, { name });
    await world.client.delete(CUSTOM_RESOURCE_DEFINITION, { name });
    await world.advance(MINUTE);
    const body = { metadata: { finalizers: null } };
    for (const { metadata } of await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1"))
      await world.client.patch(NODE_CLAIM as Kind, metadata, { type: "merge", body });
    await world.advance(LONG_ENOUGH);
    expect({ instances: instances(), pods: await running() }).toEqual(before);
    await world.client.create(CUSTOM_RESOURCE_DEFINITION, { ...again, metadata: { name } });
    const areNew = (ids: readonly string[]) => !ids.some((id) => before.instances.includes(id));
    await world.until("all are replaced", () => areNew(instances()), 60 * MINUTE);
    await world.until("6 pods run", async () => (await running()).length === 6, 10 * MINUTE);
  });
});

/** Launches more small nodes than the brake allows to be removed. */
async function manyNodes(): Promise<readonly string[]> {
  await world.scale("inflate", 0);
  await world.until("no node is left", () => instances().length === 0, 30 * MINUTE);
  await world.client.patch(
    NODE_POOL,
    { name: "default" },
    { type: "merge", body: { spec: { disruption: { consolidateAfter: "Never" } } } },
  );
  for (let n = 1; n <= 8; n++) {
    await world.scale("inflate", n * 2);
    await world.until(`${n * 2} pods`, async () => (await running()).length === n * 2, 10 * MINUTE);
  }
  const before = instances();
  expect(before.length).toBeGreaterThan(6);
  return before;
}

describe("status checks that fail everywhere", () => {
  const failing = {
    Status: "impaired",
    Details: [{ Name: "reachability", Status: "failed", ImpairedSince: new Date(0).toISOString() }],
  };

  it("drain no more nodes than the brake allows", async () => {
    const before = await manyNodes();
    const { controls } = world.box.sandbox.aws;
    for (const id of before) controls.impair(id, { SystemStatus: failing });
    await world.advance(30 * MINUTE);
    const left = before.filter((id) => instances().includes(id));
    expect(left).toHaveLength(before.length - 5);
    expect((await running()).length).toBe(16);
    const pool = await world.get("NodePool", "default", "karpenter.sh/v1");
    expect(condition(pool, "InvoluntaryEndsStopped")?.message).toContain(
      "More than 5 of 10 nodes would end",
    );
    // The brake does not hold back interruptions that the cloud announces.
    for (const id of left) controls.impair(id, { Events: [{ Code: "instance-retirement" }] });
    await world.until(
      "they are drained",
      () => !left.some((id) => instances().includes(id)),
      20 * MINUTE,
    );
  });
});

describe("claims that are gone", () => {
  it("with an instance of another cluster with the same name: the instance is kept", async () => {
    await world.box.sandbox.aws.api.ec2.createTags({
      Resources: instances(),
      Tags: [{ Key: "karpenter.sh/cluster-uid", Value: "another-cluster" }],
    });
    const before = instances();
    await forgetClaims();
    for (const node of await world.list<Node>("Node", "v1", "karpenter.sh/nodepool"))
      await forget(NODE as Kind, node);
    await world.advance(LONG_ENOUGH);
    expect(instances()).toEqual(expect.arrayContaining([...before]));
    // Two clusters with one name are a mistake, so the log names each such instance once.
    const told = karpenter.log.filter((line) =>
      line.includes("another cluster with this cluster's name"),
    );
    expect(told).toHaveLength(before.length);
  });

  it.each([
    ["of the same time", 0],
    ["an hour ahead", 60 * MINUTE],
    ["an hour behind", -60 * MINUTE],
  ])(
    "before and after a restart of the controller, with a clock %s: the brake counts both together",
    async (_, aheadMs) => {
      const before = await manyNodes();
      const left = () => before.filter((id) => instances().includes(id));
      const claims = await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
      const forgetSome = async (from: number, to: number) => {
        for (const one of claims.slice(from, to)) await forget(NODE_CLAIM as Kind, one);
      };
      await forgetSome(0, 4);
      await world.until("four have ended", () => left().length === before.length - 4, 5 * MINUTE);
      await world.advance(2 * MINUTE);
      karpenter.kill();
      await world.advance(MINUTE / 2);
      karpenter = startReplica(world, "the-next", {}, () => aheadMs);
      await world.until("it leads", () => karpenter.operator.ready);
      await forgetSome(4, claims.length);
      await world.advance(LONG_ENOUGH);
      expect(left()).toHaveLength(before.length - 5);
      expect((await running()).length).toBe(16);
    },
  );

  it("after a restore of etcd: their nodes are drained, no more than the brake allows", async () => {
    const before = await manyNodes();
    await forgetClaims();
    await world.advance(LONG_ENOUGH);
    const left = () => before.filter((id) => instances().includes(id));
    expect(left()).toHaveLength(before.length - 5);
    expect((await running()).length).toBe(16);
    const pool = () => world.get("NodePool", "default", "karpenter.sh/v1");
    expect(condition(await pool(), "InvoluntaryEndsStopped")?.message).toContain(
      "More than 5 nodes would end",
    );
    // What a user does to release the brake.
    const annotations = {
      "karpenter.sh/involuntary-ends-released": new Date(world.clock.now()).toISOString(),
    };
    await world.client.patch(
      NODE_POOL,
      { name: "default" },
      { type: "merge", body: { metadata: { annotations } } },
    );
    await world.until("the rest have ended", () => left().length === 0, 30 * MINUTE);
    expect(condition(await pool(), "InvoluntaryEndsStopped")).toBeUndefined();
  });
});

/**
 * Karpenter-ts takes over from Karpenter in Go, on moto: its objects, instances, a launch template and an instance
 * profile. The change itself launches no instance and ends none. Afterwards a deleted claim and a drifted claim end
 * properly. upstream (v1.15.2): pkg/utils/utils.go (GetTags), pkg/providers/launchtemplate,
 * pkg/providers/instanceprofile, pkg/apis/v1/labels.go.
 */
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../src/apis/aws/ec2nodeclass.ts";
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import { condition } from "../../src/apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../src/apis/karpenter/nodepool.ts";
import { PacedClock } from "../../src/base/paced-clock.ts";
import { type Box, openBox } from "../../src/cli/sandbox/box.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { AwsApi } from "../../src/providers/aws/api/aws-api.ts";
import type { Instance } from "../../src/providers/aws/api/instances.ts";
import { fromTagList } from "../../src/providers/aws/tags/tags.ts";
import { createUser, type User } from "../user.ts";
import { type Moto, REGION, startMoto } from "./moto.ts";
import { type Account, CLUSTER, prepareAccount, ROLE } from "./moto-world.ts";
import {
  joinNode,
  PROFILE,
  TEMPLATE,
  type UpstreamFleet,
  upstreamFleet,
  useGroup,
} from "./upstream-fleet.ts";

/** Simulated seconds in one real second. */
const SPEED = 20;
const MINUTE_MS = 60_000;

let moto: Moto;
let account: Account;
let fleet: UpstreamFleet;
let clock: PacedClock;
let box: Box;
let client: KubeClient;
let user: User;
/** When our operator starts. It deletes launch templates that no launch has used for five minutes since. */
let startMs: number;

/**
 * moto gives a fleet's instances the VPC's default security group; EC2 gives them the template's groups. Without
 * this call the instances would drift.
 */
const createFleet: AwsApi["ec2"]["createFleet"] = async (input) => {
  const answer = await moto.api.ec2.createFleet(input);
  const ids = answer.Instances?.flatMap(({ InstanceIds }) => InstanceIds) ?? [];
  for (const id of ids) await useGroup(moto, account, id);
  return answer;
};
const until = async (what: string, holds: () => Promise<boolean>, limitMs = 10 * MINUTE_MS) => {
  const deadlineMs = clock.now() + limitMs;
  while (!(await holds())) {
    if (clock.now() > deadlineMs) {
      const lines = box?.karpenterLog.lines("karpenter/karpenter-0") ?? [];
      throw new Error(
        `never happened: ${what}\n${lines
          .slice(-30)
          .map(({ text }) => text)
          .join("\n")}`,
      );
    }
    await clock.sleep(1_000);
  }
};
const instances = async (): Promise<ReadonlyMap<string, Instance>> => {
  const { Reservations } = await moto.api.ec2.describeInstances({});
  return new Map(
    Reservations.flatMap(({ Instances }) => Instances.map((one) => [one.InstanceId, one])),
  );
};
const running = async () =>
  [...(await instances()).values()].filter(({ State }) => State.Name === "running");
const stateOf = async (id: string) => (await instances()).get(id)?.State.Name;
const claims = async () => (await client.list<NodeClaim>(NODE_CLAIM)).items;
const nodes = async () =>
  (await client.list<Node>(NODE, { labelSelector: "karpenter.sh/nodepool" })).items;
const pods = async () =>
  (await client.list<Pod>(POD, { namespace: "default" })).items.filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
const allRun = async () => {
  const all = await pods();
  return all.length === 2 && all.every(({ status }) => status?.phase === "Running");
};
const templates = async () =>
  (await moto.api.ec2.describeLaunchTemplates({})).LaunchTemplates.map(
    ({ LaunchTemplateName }) => LaunchTemplateName,
  );
const uids = (all: readonly { readonly metadata: { readonly uid?: string } }[]) =>
  all.map(({ metadata }) => metadata.uid).sort();
/** Creates the Nodes of claims that our operator launched: moto's instances have no kubelet. */
const joinNew = async () => {
  const known = new Set((await nodes()).map(({ spec }) => spec?.providerID));
  for (const claim of await claims()) {
    const { providerID } = claim.status ?? {};
    if (providerID === undefined || providerID === "" || known.has(providerID)) continue;
    if (claim.metadata.deletionTimestamp === undefined) await joinNode(client, clock, claim);
  }
};

beforeAll(async () => {
  moto = await startMoto();
  account = await prepareAccount(moto);
  clock = new PacedClock(SPEED);
  box = await openBox({
    clock,
    seed: 1,
    trace: () => undefined,
    provider: "aws",
    clusterName: CLUSTER,
    region: REGION,
    kubernetesVersion: "1.34",
    logLevel: "debug",
    // Creates what Karpenter in Go would have left, before our operator starts.
    connectAws: async ({ client: kube }) => {
      client = kube;
      user = createUser(kube, { settle: async () => undefined }, CLUSTER);
      fleet = await upstreamFleet({ user, client, clock }, moto, account);
      await until("the pods run", allRun);
      startMs = clock.now();
      return { ...moto.api, ec2: { ...moto.api.ec2, createFleet } };
    },
    flags: { preset: "upstream-compatible" },
  });
});

afterAll(async () => {
  await box?.stop();
  clock?.stop();
  await moto?.close();
});

describe("a handover from Karpenter in Go on moto", () => {
  it("terminates no instance, launches none and evicts no pod", async () => {
    const before = {
      claims: uids(await claims()),
      nodes: uids(await nodes()),
      pods: uids(await pods()),
    };
    expect([before.claims.length, before.nodes.length, before.pods.length]).toEqual([2, 2, 2]);
    await until("the class is ours, and ready", async () => {
      const one = await client.get<EC2NodeClass>(EC2_NODE_CLASS, { name: "default" });
      const version = one.metadata.annotations?.["karpenter.k8s.aws/ec2nodeclass-hash-version"];
      return version !== "v6" && condition(one, "Ready")?.status === "True";
    });
    // Time for disruption rounds and the first garbage collections.
    await clock.sleep(Math.max(0, startMs + 4 * MINUTE_MS - clock.now()));
    const found = await instances();
    expect([...found.keys()].sort()).toEqual([...fleet.instanceIds].sort());
    expect([...found.values()].map(({ State }) => State.Name)).toEqual(["running", "running"]);
    expect(uids(await claims())).toEqual(before.claims);
    expect(uids(await nodes())).toEqual(before.nodes);
    expect(uids(await pods())).toEqual(before.pods);
    for (const one of await claims()) expect(condition(one, "Drifted")?.status).not.toBe("True");
  });

  it("keeps the launch template while it may be needed, and leaves the tags unchanged", async () => {
    expect(await templates()).toEqual([TEMPLATE]);
    for (const [id, { Tags }] of await instances())
      expect(fromTagList(Tags)).toEqual(fleet.tags.get(id));
  });

  it("keeps the instance profile of the existing nodes, and creates another for new nodes", async () => {
    const roles = async (InstanceProfileName: string) => {
      const { InstanceProfile } = await moto.api.iam.getInstanceProfile({ InstanceProfileName });
      return InstanceProfile.Roles.map(({ RoleName }) => RoleName);
    };
    const { status } = await client.get<EC2NodeClass>(EC2_NODE_CLASS, { name: "default" });
    expect(await roles(PROFILE)).toEqual([ROLE]);
    expect(await roles(status?.instanceProfile ?? "")).toEqual([ROLE]);
  });

  it("deletes the launch template once no launch has used it for some time", async () => {
    await until("the template is gone", async () => !(await templates()).includes(TEMPLATE));
  });

  it("terminates the instance of a deleted claim and no other; its pod gets another node", async () => {
    const [gone, stays] = fleet.instanceIds as [string, string];
    await user.remove("NodeClaim", "default-0", "karpenter.sh/v1");
    const isGone = async () =>
      (await claims()).every(({ metadata }) => metadata.name !== "default-0");
    await until("the claim is gone and the pods run again", async () => {
      await joinNew();
      return (await isGone()) && (await allRun());
    });
    expect(await stateOf(gone)).toBe("terminated");
    expect(await stateOf(stays)).toBe("running");
  });

  it("replaces a drifted node before it removes it", async () => {
    const [, id] = fleet.instanceIds as [string, string];
    const body = { spec: { template: { metadata: { labels: { wave: "second" } } } } };
    await client.patch(NODE_POOL, { name: "default" }, { type: "merge", body });
    await until("the drifted instance has ended", async () => {
      await joinNew();
      return (await stateOf(id)) === "terminated" && (await allRun());
    });
    await until("there is an instance for each claim, and no other", async () => {
      await joinNew();
      const wanted = (await claims()).map(({ status }) => status?.providerID?.split("/").at(-1));
      const ids = (await running()).map(({ InstanceId }) => InstanceId);
      return wanted.length === 2 && isDeepStrictEqual(ids.sort(), wanted.sort());
    });
  });

  it("leaves none of upstream's AWS resources, and none of ours, once pool and class are deleted", async () => {
    await user.remove("Deployment", "web", "apps/v1");
    await user.remove("NodePool", "default", "karpenter.sh/v1");
    await user.remove("EC2NodeClass", "default", "karpenter.k8s.aws/v1");
    await until("the class is gone", async () => {
      return (await client.list<EC2NodeClass>(EC2_NODE_CLASS)).items.length === 0;
    });
    expect(await running()).toEqual([]);
    expect(await templates()).toEqual([]);
    const { InstanceProfiles } = await moto.api.iam.listInstanceProfiles({ PathPrefix: "/" });
    expect(InstanceProfiles.map(({ InstanceProfileName }) => InstanceProfileName)).toEqual([]);
  });
});

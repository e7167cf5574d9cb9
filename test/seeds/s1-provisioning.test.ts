/** Seed S1: what Karpenter does with unschedulable pods, all with one provisioner. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Account,
  conditionOf,
  deployment,
  inAccount,
  type Json,
  MACHINES,
  NODES,
  openAccount,
  overrides,
  PODS,
  type PodWish,
  PROVISIONERS,
  seed,
  WHOLE_REGION,
} from "./account.ts";

const ZONE = "topology.kubernetes.io/zone";
const TYPE = "node.kubernetes.io/instance-type";

/** A world with the seed's provisioner for both architectures, which also sets a label. */
async function openCluster(): Promise<Account> {
  const account = await openAccount(WHOLE_REGION);
  await account.send(
    "POST",
    PROVISIONERS,
    seed("s1-08-provisioner-arm.yaml", { spec: { labels: { team: "a" } } }),
  );
  return account;
}

describe("pods that cannot be placed", () => {
  let account: Account;

  beforeAll(async () => {
    account = await openCluster();
    // From here on the sandbox's first nodes are full.
    await account.deploy("filler", 2);
    await account.running("filler", 2);
  });
  afterAll(() => account.world.close());

  /** Runs a pod and resolves to its node. */
  async function nodeFor(name: string, wish: PodWish): Promise<Json> {
    await account.deploy(name, 1, wish);
    const [pod] = await account.running(name, 1);
    return account.read(`${NODES}/${pod.spec.nodeName}`);
  }

  /** Creates a pod that cannot be placed; resolves to the last error in the log about it. */
  async function refusal(name: string, wish: PodWish): Promise<string> {
    const before = account.fleets().length;
    await account.deploy(name, 1, wish);
    await account.world.advance(15_000);
    const [pod] = await account.items(`${PODS}?labelSelector=app=${name}`);
    expect(pod.status.phase).toBe("Pending");
    expect(account.fleets()).toHaveLength(before);
    const line = account
      .said(`default/${pod.metadata.name}`)
      .findLast((one) => one.includes("ERROR"));
    await account.send("DELETE", `/apis/apps/v1/namespaces/default/deployments/${name}`);
    await account.world.advance(1_000);
    return line ?? "";
  }

  it("are those that the scheduler reports as unschedulable, and no others (S1-02)", async () => {
    const { world } = account;
    expect(account.fleets()).toEqual([]);
    const big = { cpu: "1000m", memory: "1Gi" };
    const daemon = deployment("daemon", 1, { requests: { cpu: "3" } }) as Json;
    await account.send("POST", "/apis/apps/v1/namespaces/default/daemonsets", {
      ...daemon,
      kind: "DaemonSet",
      spec: { selector: daemon.spec.selector, template: daemon.spec.template },
    });
    await account.send("POST", PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "placed" },
      spec: {
        nodeName: "ip-10-0-96-10.us-west-2.compute.internal",
        containers: [{ name: "app", image: "pause", resources: { requests: big } }],
      },
    });
    await world.advance(15_000);
    const daemons = await account.items(`${PODS}?labelSelector=app=daemon`);
    expect(conditionOf(daemons[0], "PodScheduled")?.reason).toBe("Unschedulable");
    expect(account.fleets()).toEqual([]);
    await account.send("DELETE", "/apis/apps/v1/namespaces/default/daemonsets/daemon");
    await account.send("DELETE", `${PODS}/placed`);
    await world.advance(5_000);
    await nodeFor("plain", {});
    expect(account.fleets()).toHaveLength(1);
  });

  it("get a node from the cheapest types that fit (S1-01)", () => {
    const { state } = account.world.box.sandbox.aws;
    const asked = overrides(account.fleets()[0]).map(({ InstanceType = "" }) => InstanceType);
    const prices = asked.map((type) => state.catalogue.facts.get(type)?.onDemandMicroUsd ?? 0);
    const [instance] = [...state.instances.values()].filter(({ fleetId }) => fleetId !== undefined);
    const launched = state.catalogue.facts.get(instance?.type ?? "");
    expect(launched?.onDemandMicroUsd).toBe(Math.min(...prices));
    const fitting = [...state.catalogue.facts.values()].filter(
      ({ vcpus, memoryMib, onDemandMicroUsd }) =>
        vcpus >= 2 && memoryMib >= 2_048 && onDemandMicroUsd !== undefined,
    );
    const cheaper = fitting.filter(
      ({ onDemandMicroUsd = 0 }) => onDemandMicroUsd < (launched?.onDemandMicroUsd ?? 0),
    );
    expect(cheaper.length).toBeLessThan(10);
  });

  it("get the GPUs, CPUs and memory that they request, from one provisioner (S1-03, S1-28, S1-30)", async () => {
    const resources = { limits: { "nvidia.com/gpu": "1" } };
    const containers = [{ name: "app", image: "pause", resources }];
    const gpu = await nodeFor("gpu", { spec: { containers } });
    expect(gpu.metadata.labels[TYPE]).toMatch(/^[pg]\d/);
    expect(Number(gpu.status.capacity["nvidia.com/gpu"])).toBeGreaterThanOrEqual(1);
    const wide = await nodeFor("wide", { requests: { cpu: "30" } });
    expect(Number(wide.status.capacity.cpu)).toBeGreaterThanOrEqual(32);
    // `deep` is created before `huge`, because the node of `huge` would have room for both pods.
    const deep = await nodeFor("deep", { requests: { cpu: "1", memory: "100Gi" } });
    const huge = await nodeFor("huge", { requests: { cpu: "100" } });
    expect(Number(huge.status.capacity.cpu)).toBeGreaterThan(100);
    const types = [gpu, wide, huge, deep].map(({ metadata }) => metadata.labels[TYPE]);
    expect(new Set(types).size).toBe(4);
    const owners = (await account.items(MACHINES)).map(
      ({ metadata }) => metadata.labels["karpenter.sh/provisioner-name"],
    );
    expect(new Set(owners)).toEqual(new Set(["multi-arch"]));
    expect(await account.items(PROVISIONERS)).toHaveLength(1);
  });

  it("get the zone, architecture and labels that they select (S1-04, S1-13, S1-29)", async () => {
    const zoned = await nodeFor("zoned", {
      requests: { cpu: "3" },
      spec: { nodeSelector: { [ZONE]: "us-west-2b" } },
    });
    expect(zoned.metadata.labels[ZONE]).toBe("us-west-2b");
    const instance = (await account.instances()).find(
      ({ PrivateDnsName }) => PrivateDnsName === zoned.metadata.name,
    );
    expect(instance?.Placement.AvailabilityZone).toBe("us-west-2b");
    await account.world.applySeed("s1-07-arm-deployment.yaml");
    const [arm] = await account.running("arm-app", 1);
    const node = await account.read(`${NODES}/${arm.spec.nodeName}`);
    expect(node.metadata.labels["kubernetes.io/arch"]).toBe("arm64");
    const labelled = await nodeFor("labelled", {
      requests: { cpu: "3" },
      spec: { nodeSelector: { team: "a" } },
    });
    expect(labelled.metadata.labels["team"]).toBe("a");
    expect(await refusal("lost", { spec: { nodeSelector: { unheard: "of" } } })).toMatch(
      /label \\"unheard\\" does not have known values/,
    );
  });

  it("get the types that their affinity requires, and lose preferences that nothing meets (S1-05)", async () => {
    const affinity = (kind: string, term: Json) => ({
      affinity: { nodeAffinity: { [kind]: term } },
    });
    const expression = (key: string, value: string) => ({
      matchExpressions: [{ key, operator: "In", values: [value] }],
    });
    const required = await nodeFor("required", {
      spec: affinity("requiredDuringSchedulingIgnoredDuringExecution", {
        nodeSelectorTerms: [expression(TYPE, "c5.large")],
      }),
    });
    expect(required.metadata.labels[TYPE]).toBe("c5.large");
    const preferred = await nodeFor("preferred", {
      requests: { cpu: "3" },
      spec: affinity("preferredDuringSchedulingIgnoredDuringExecution", [
        { weight: 1, preference: expression(ZONE, "the-moon") },
      ]),
    });
    expect(preferred.metadata.labels["karpenter.sh/provisioner-name"]).toBe("multi-arch");
  });

  it("are spread over zones as their topology spread requires (S1-07)", async () => {
    await account.deploy("spread", 3, {
      requests: { cpu: "3" },
      spec: {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: ZONE,
            whenUnsatisfiable: "DoNotSchedule",
            labelSelector: { matchLabels: { app: "spread" } },
          },
        ],
      },
    });
    const pods = await account.running("spread", 3);
    const zones = await Promise.all(
      pods.map(
        async ({ spec }) => (await account.read(`${NODES}/${spec.nodeName}`)).metadata.labels[ZONE],
      ),
    );
    expect(zones.sort()).toEqual(["us-west-2a", "us-west-2b", "us-west-2c"]);
  });
});

describe("a provisioner with a taint", () => {
  it("gives nodes only to pods that tolerate it, and its nodes have the taint (S1-06)", () =>
    inAccount(async (account) => {
      const taint = { key: "a", value: "b", effect: "NoSchedule" };
      await account.send(
        "POST",
        PROVISIONERS,
        seed("s1-08-provisioner-arm.yaml", { spec: { taints: [taint] } }),
      );
      await account.deploy("strict", 1, { cpu: "3" });
      await account.world.advance(15_000);
      expect(account.fleets()).toEqual([]);
      expect(account.said("did not tolerate")).not.toEqual([]);
      await account.deploy("tolerant", 1, {
        cpu: "3",
        spec: { tolerations: [{ key: "a", operator: "Equal", value: "b", effect: "NoSchedule" }] },
      });
      const [pod] = await account.running("tolerant", 1);
      const node = await account.read(`${NODES}/${pod.spec.nodeName}`);
      expect(node.spec.taints).toContainEqual(taint);
      const [strict] = await account.items(`${PODS}?labelSelector=app=strict`);
      expect(strict.status.phase).toBe("Pending");
    }));
});

import { describe, expect, it } from "vitest";
import type { Pod } from "../src/apis/core/pod.ts";
import { DEFAULT_PROFILES } from "../src/sandbox/kube-scheduler/profiles.ts";
import { kwokPoolManifest, ON_DEMAND } from "../src/testing/manifests.ts";
import { openWorld, type TestWorld } from "./world.ts";

const CONFIG =
  "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}";

const MANIFESTS = kwokPoolManifest({ requirements: [ON_DEMAND] });

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: app, image: pause, resources: {requests: {cpu: 100m}}}]
`;

const CONTROLLER = `
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec:
  replicas: 0
  selector: {app: old}
  template:
    metadata: {labels: {app: old}}
    spec: {containers: [{name: app, image: pause}]}
`;

const podOf = (name: string, uid: string) => `
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  labels: {app: old}
  ownerReferences: [{apiVersion: v1, kind: ReplicationController, name: old, uid: ${uid}, controller: true}]
spec:
  nodeSelector: {karpenter.sh/nodepool: default}
  containers: [{name: app, image: pause, resources: {requests: {cpu: 100m}}}]
`;

async function ofController(world: TestWorld): Promise<void> {
  await world.apply(CONTROLLER);
  const [controller] = await world.list("ReplicationController", "v1");
  const uid = controller?.metadata.uid ?? "";
  for (const name of ["old-a", "old-b"]) await world.apply(podOf(name, uid));
}

async function ofDeployment(world: TestWorld): Promise<void> {
  await world.apply(DEPLOYMENT);
}

const HARD_HOSTS = {
  maxSkew: 1,
  topologyKey: "kubernetes.io/hostname",
  whenUnsatisfiable: "DoNotSchedule",
} as const;

async function zones(
  flags: Record<string, string>,
  start: (world: TestWorld) => Promise<void> = ofDeployment,
): Promise<number> {
  const world = await openWorld({ provider: "kwok", flags });
  try {
    await world.apply(MANIFESTS);
    await start(world);
    const nodes = () => world.list("Node", "v1", "karpenter.sh/nodepool=default");
    await world.until("nodes are there", async () => (await nodes()).length > 0);
    const found = (await nodes()).map(
      ({ metadata }) => metadata.labels?.["topology.kubernetes.io/zone"],
    );
    return new Set(found).size;
  } finally {
    await world.close();
  }
}

describe("SCHEDULER_CONFIG", () => {
  it("spreads the pods of a ReplicaSet without constraints of their own", async () => {
    expect(await zones({})).toBe(1);
    expect(await zones({ "scheduler-config": CONFIG })).toBe(2);
  });

  it("spreads the pods of a ReplicationController, too", async () => {
    expect(await zones({ "scheduler-config": CONFIG }, ofController)).toBe(2);
  });

  it("agrees with a profile of the simulated kube-scheduler that has the same default spread", async () => {
    const world = await openWorld({
      provider: "kwok",
      flags: {
        "scheduler-config": JSON.stringify({
          podTopologySpread: { defaultConstraints: [HARD_HOSTS] },
        }),
      },
      schedulerProfiles: [
        ...DEFAULT_PROFILES,
        {
          schedulerName: "spreading",
          defaultSpread: { constraints: [HARD_HOSTS], isSystem: false },
        },
      ],
    });
    try {
      await world.apply(MANIFESTS);
      await world.apply(
        DEPLOYMENT.replace("replicas: 2", "replicas: 4").replace(
          "      nodeSelector",
          "      schedulerName: spreading\n      nodeSelector",
        ),
      );
      const running = async () =>
        ((await world.list("Pod", "v1", "app=web")) as readonly Pod[]).filter(
          ({ status }) => status?.phase === "Running",
        );
      await world.until("all pods run", async () => (await running()).length === 4);
      const nodes = new Set((await running()).map(({ spec }) => spec.nodeName));
      expect(nodes.size).toBe(4);
      expect(await world.list("Node", "v1", "karpenter.sh/nodepool=default")).toHaveLength(4);
    } finally {
      await world.close();
    }
  });

  it("with an unknown field keeps the controller from starting, and the error names the field", async () => {
    await expect(zones({ "scheduler-config": "podTopologySpread: {x: 1}" })).rejects.toThrow(
      "invalid --scheduler-config: podTopologySpread.x: unknown field",
    );
  });
});

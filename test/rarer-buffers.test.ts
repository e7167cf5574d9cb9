/**
 * Rarer cases of CapacityBuffers, live in the sandbox with two seeds: quotas, volumes of a zone, rounding, limits
 * that two buffers share, deleted templates, Jobs, anti-affinity, and room that pods take.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { CapacityBuffer } from "../src/apis/autoscaling/capacity-buffer.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { condition } from "../src/apis/karpenter/conditions.ts";
import { kwokPoolManifest, ON_DEMAND } from "../src/testing/manifests.ts";
import { openWorld, type TestWorld } from "./world.ts";

const MINUTE_MS = 60_000;
const POOL = {
  requirements: [
    "{key: node.kubernetes.io/instance-type, operator: In, values: [c-4x-amd64-linux]}",
    ON_DEMAND,
  ],
  disruption: "{consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s}",
};

const room = (more = "", cpu = "1500m", name = "room") => `
---
apiVersion: v1
kind: PodTemplate
metadata: {name: ${name}, namespace: default}
template:
  metadata: {labels: {app: ${name}}}
  spec:
    nodeSelector: {karpenter.sh/nodepool: default}
    ${more}
    containers: [{name: app, image: pause, resources: {requests: {cpu: ${cpu}}}}]
`;

const buffer = (spec: string, name = "spare") => `
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: ${name}, namespace: default}
spec: ${spec}
`;

const web = (replicas: number, cpu = "1500m") => `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: app, image: pause, resources: {requests: {cpu: ${cpu}}}}]
`;

let world: TestWorld;
afterEach(() => world?.close());

async function open(seed: number, limits?: string): Promise<void> {
  world = await openWorld({
    seed,
    provider: "kwok",
    logLevel: "info",
    flags: { "feature-gates": "CapacityBuffer=true" },
  });
  await world.apply(kwokPoolManifest({ ...POOL, ...(limits === undefined ? {} : { limits }) }));
}

const nodes = () => world.list("Node", "v1", "karpenter.sh/nodepool=default");
const read = (name = "spare") =>
  world.get<CapacityBuffer>("CapacityBuffer", name, "autoscaling.x-k8s.io/v1beta1");
const size = async (name?: string) => (await read(name)).status?.replicas;
const reason = async (type: string, name?: string) => condition(await read(name), type)?.reason;
const running = async (selector: string) =>
  (await world.list<Pod>("Pod", "v1", selector)).filter(
    ({ status }) => status?.phase === "Running",
  );

describe.each([1, 2])("a CapacityBuffer, seed %i", (seed) => {
  it("has no more pods than a quota leaves beside pods that exist, and grows when they go", async () => {
    await open(seed);
    await world.apply(`
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: default}
spec: {hard: {pods: "4"}}
`);
    await world.apply(web(3, "100m"));
    await world.advance(MINUTE_MS);
    await world.apply(room() + buffer("{podTemplateRef: {name: room}, replicas: 3}"));
    await world.advance(2 * MINUTE_MS);
    expect(await size()).toBe(1);
    await world.scale("web", 0);
    await world.advance(2 * MINUTE_MS);
    expect(await size()).toBe(3);
  });

  it("keeps room in the zone of its volume", async () => {
    await open(seed);
    const zone = "test-zone-c";
    await world.apply(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  claimRef: {namespace: default, name: disk}
  hostPath: {path: /d}
  nodeAffinity:
    required:
      nodeSelectorTerms:
        - matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [${zone}]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: disk, resources: {requests: {storage: 1Gi}}}
`);
    await world.advance(MINUTE_MS);
    const volumes = "volumes: [{name: d, persistentVolumeClaim: {claimName: disk}}]";
    await world.apply(room(volumes) + buffer("{podTemplateRef: {name: room}, replicas: 1}"));
    await world.advance(2 * MINUTE_MS);
    const zones = (await nodes()).map(
      ({ metadata }) => metadata.labels?.["topology.kubernetes.io/zone"],
    );
    expect(zones).toEqual([zone]);
    expect(await reason("Provisioning")).toBe("FitsExistingCapacity");
  });

  it("rounds a percentage up, to 1 at least, and is empty while the workload is", async () => {
    await open(seed);
    const spec = (percentage: number) =>
      buffer(`{scalableRef: {kind: Deployment, name: web}, percentage: ${percentage}}`);
    await world.apply(web(3, "100m") + spec(34));
    await world.advance(MINUTE_MS);
    expect(await size()).toBe(2);
    await world.apply(spec(1));
    await world.advance(MINUTE_MS);
    expect(await size()).toBe(1);
    await world.scale("web", 0);
    await world.advance(2 * MINUTE_MS);
    expect(await size()).toBe(0);
    expect(await reason("Provisioning")).toBe("BufferEmpty");
    expect(await nodes()).toEqual([]);
  });

  it("shares a pool's limit with another one, and neither goes beyond it", async () => {
    await open(seed, "{cpu: 8}");
    await world.apply(
      room() +
        buffer("{podTemplateRef: {name: room}, replicas: 3}", "one") +
        buffer("{podTemplateRef: {name: room}, replicas: 3}", "two"),
    );
    await world.advance(5 * MINUTE_MS);
    expect(await nodes()).toHaveLength(2);
    const reasons = [await reason("Provisioning", "one"), await reason("Provisioning", "two")];
    expect(reasons).toContain("RequiresNewCapacity");
    const before = await nodes();
    await world.advance(30 * MINUTE_MS);
    expect(await nodes()).toEqual(before);
  });

  it("that lacks room uses a node that other pods leave, before the node is removed as empty", async () => {
    await open(seed, "{nodes: 2}");
    await world.apply(
      web(2, "3") + room("", "3") + buffer("{podTemplateRef: {name: room}, replicas: 1}"),
    );
    // The regular pass of each half minute has just run: the next one would be too late.
    await world.advance(2 * MINUTE_MS + 3_000);
    expect(await reason("Provisioning")).toBe("RequiresNewCapacity");
    const before = (await nodes()).map(({ metadata }) => metadata.name);
    await world.scale("web", 1);
    await world.advance(5 * MINUTE_MS);
    expect((await nodes()).map(({ metadata }) => metadata.name)).toEqual(before);
    expect(await reason("Provisioning")).toBe("FitsExistingCapacity");
  });

  it("loses its nodes when its template is deleted, and gets new ones when it is back", async () => {
    await open(seed);
    await world.apply(room() + buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    await world.advance(2 * MINUTE_MS);
    expect(await nodes()).toHaveLength(1);
    await world.remove("PodTemplate", "room");
    await world.advance(3 * MINUTE_MS);
    expect(await reason("ReadyForProvisioning")).toBe("PodTemplateNotFound");
    expect(await nodes()).toEqual([]);
    await world.apply(room());
    await world.advance(3 * MINUTE_MS);
    expect(await reason("ReadyForProvisioning")).toBe("Resolved");
    expect(await nodes()).toHaveLength(1);
  });

  it("takes its pods from a Job", async () => {
    await open(seed);
    await world.apply(`
apiVersion: batch/v1
kind: Job
metadata: {name: work, namespace: default}
spec:
  parallelism: 2
  completions: 4
  template:
    metadata: {annotations: {karpenter-ts.sandbox/run-for: 2h}}
    spec:
      restartPolicy: Never
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: app, image: pause, resources: {requests: {cpu: 1500m}}}]
`);
    await world.apply(
      buffer("{scalableRef: {apiGroup: batch, kind: Job, name: work}, percentage: 100}"),
    );
    await world.advance(3 * MINUTE_MS);
    expect(await size()).toBe(2);
    expect(await reason("Provisioning")).toBe("FitsExistingCapacity");
    expect(await nodes()).toHaveLength(2);
  });

  it("keeps a node for each of its pods that refuse each other's company", async () => {
    await open(seed);
    const apart =
      "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: room}}}]}}";
    await world.apply(room(apart, "100m") + buffer("{podTemplateRef: {name: room}, replicas: 3}"));
    await world.advance(3 * MINUTE_MS);
    expect(await nodes()).toHaveLength(3);
    const before = await nodes();
    await world.advance(20 * MINUTE_MS);
    expect((await nodes()).map(({ metadata }) => metadata.name)).toEqual(
      before.map(({ metadata }) => metadata.name),
    );
  });

  it("that finds no room leaves no event and no log line about pods that do not exist", async () => {
    await open(seed, "{cpu: 4}");
    await world.apply(room() + buffer("{podTemplateRef: {name: room}, replicas: 6}"));
    await world.advance(10 * MINUTE_MS);
    expect(await reason("Provisioning")).toBe("RequiresNewCapacity");
    const events = (await world.list("Event", "v1")) as unknown as readonly {
      readonly involvedObject: { readonly kind: string };
      readonly source?: { readonly component?: string };
      readonly message: string;
    }[];
    const said = events.filter(({ source }) => source?.component === "karpenter");
    expect(said.length).toBeGreaterThan(0);
    expect(said.filter(({ involvedObject }) => involvedObject.kind === "Pod")).toEqual([]);
    expect(world.log().filter((line) => line.includes("could not schedule pod"))).toEqual([]);
  });

  it("has pods with the defaults of its namespace's LimitRange", async () => {
    await open(seed);
    await world.apply(`
apiVersion: v1
kind: LimitRange
metadata: {name: usual, namespace: default}
spec: {limits: [{type: Container, defaultRequest: {cpu: 3}}]}
`);
    const bare = room().replace(", resources: {requests: {cpu: 1500m}}", "");
    await world.apply(bare + buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    await world.advance(3 * MINUTE_MS);
    expect(await nodes()).toHaveLength(2);
  });

  it("gives its room to pods of a workload at once, and shrinks no further than its limit when they go", async () => {
    await open(seed);
    await world.apply(room() + buffer("{podTemplateRef: {name: room}, replicas: 2}"));
    await world.advance(2 * MINUTE_MS);
    await world.apply(web(2));
    await world.advance(10_000);
    expect(await running("app=web")).toHaveLength(2);
    await world.advance(2 * MINUTE_MS);
    expect(await nodes()).toHaveLength(2);
    await world.scale("web", 0);
    await world.advance(10 * MINUTE_MS);
    expect(await nodes()).toHaveLength(1);
    expect(await reason("Provisioning")).toBe("FitsExistingCapacity");
  });
});

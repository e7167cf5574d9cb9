import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { createPodProjection } from "../../controllers/pod-projection.ts";
import { encodeProtobuf, encodeWatchFrame } from "../../sandbox/apiserver/protobuf/encode.ts";
import { readStatusBody } from "./envelope.ts";
import { MESSAGES } from "./messages.ts";
import { createPodFrameReader, createPodKeyReader, createPodPageReader } from "./pod-frames.ts";

/** A frame as kube-apiserver sends it. It is encoded by the sandbox, which has no code in common with the reader. */
function frame(type: string, object: KubeObject): Uint8Array {
  return encodeWatchFrame(type, encodeProtobuf(object as never)).subarray(4);
}

function stored(name: string, { spec, status, metadata }: Partial<Pod> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      generateName: "web-",
      namespace: "default",
      uid: `uid of ${name}`,
      resourceVersion: "4711",
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { app: "web", empty: "" },
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", team: "red" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "r", controller: true },
      ],
      managedFields: [{ manager: "kubelet" }],
      ...metadata,
    },
    spec: {
      containers: [
        {
          name: "c",
          image: "web",
          ports: [{ containerPort: 80, hostPort: 8080, protocol: "TCP" }],
          resources: { requests: { cpu: "100m", memory: "1Gi" }, limits: { memory: "2Gi" } },
          volumeMounts: [{ name: `token-${name}`, mountPath: "/t" }],
        },
      ],
      volumes: [{ name: `token-${name}`, projected: { sources: [] } }],
      securityContext: {},
      terminationGracePeriodSeconds: 0,
      priority: -1_000,
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  } as Pod;
}

const term = {
  topologyKey: "zone",
  labelSelector: { matchExpressions: [{ key: "app", operator: "In", values: ["web", ""] }] },
  namespaceSelector: {},
};

const PODS: readonly Pod[] = [
  stored("plain"),
  stored("bound", { spec: { nodeName: "node-1" } as Pod["spec"] }),
  stored("leaving", {
    metadata: {
      deletionTimestamp: "2026-01-02T00:00:00Z",
      deletionGracePeriodSeconds: 0,
      finalizers: ["a/b"],
      generation: 3,
    } as unknown as Pod["metadata"],
  }),
  stored("choosy", {
    spec: {
      containers: [{ name: "c" }],
      initContainers: [{ name: "side", restartPolicy: "Always", resources: {} }],
      nodeSelector: { a: "b" },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "k", operator: "Exists" }] }],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 7,
              preference: { matchFields: [{ key: "f", operator: "Gt", values: ["1"] }] },
            },
          ],
        },
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }],
        },
      },
      tolerations: [{ key: "t", operator: "Exists", tolerationSeconds: 0 }, { operator: "Exists" }],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "z", whenUnsatisfiable: "DoNotSchedule", labelSelector: {} },
        { maxSkew: 2, topologyKey: "h", whenUnsatisfiable: "ScheduleAnyway", minDomains: 3 },
      ],
      overhead: { cpu: "5m" },
      resources: { requests: { cpu: "2" } },
      schedulingGates: [{ name: "later" }],
      hostNetwork: true,
    } as Pod["spec"],
  }),
  stored("claims", {
    spec: {
      containers: [{ name: "c" }],
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: "data-0", readOnly: true } },
        { name: "logs", emptyDir: {} },
        {
          name: "scratch",
          ephemeral: {
            volumeClaimTemplate: {
              spec: { storageClassName: "", resources: { requests: { storage: "1Gi" } } },
            },
          },
        },
      ],
    } as unknown as Pod["spec"],
  }),
  stored("running", {
    status: {
      phase: "Running",
      reason: "why",
      nominatedNodeName: "n",
      startTime: "2026-01-01T00:00:01Z",
      podIP: "10.0.0.1",
      conditions: [
        { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:02Z" },
        { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/2 größer" },
      ],
      containerStatuses: [
        { name: "c", ready: true, state: { running: {} }, resources: { requests: { cpu: "2" } } },
        { name: "d", ready: false, image: "d" },
      ],
    } as Pod["status"] as never,
  }),
];

describe("pods read from a protobuf watch", () => {
  it("equal the projection of the same pods in JSON, at the first and the second reading", () => {
    const read = createPodFrameReader(createPodProjection());
    const project = createPodProjection();
    for (const pod of [...PODS, ...PODS]) {
      const event = read(frame("MODIFIED", pod));
      expect(event).toEqual({ type: "MODIFIED", object: project(pod), projected: true });
      expect(Object.isFrozen(event.object.metadata)).toBe(true);
    }
  });

  it("are known by their keys, and other frames must be decoded", () => {
    const readKey = createPodKeyReader();
    for (const pod of PODS)
      expect(readKey(frame("MODIFIED", pod))).toBe(
        `${pod.metadata.namespace}/${pod.metadata.name}`,
      );
    const object = (body: object) => encodeWatchFrame("X", encodeProtobuf({ ...body })).subarray(4);
    const metadata = { name: "n", namespace: "a", resourceVersion: "9" };
    expect(readKey(object({ apiVersion: "v1", kind: "Pod", metadata }))).toBe("a/n");
    const bookmark = { apiVersion: "v1", kind: "Pod", metadata: { resourceVersion: "9" } };
    const status = { apiVersion: "v1", kind: "Status", metadata: {}, reason: "Expired" };
    for (const other of [bookmark, status]) expect(readKey(object(other))).toBeUndefined();
    expect(readKey(Buffer.alloc(0))).toBeUndefined();
    expect(() => readKey(frame("MODIFIED", PODS[0] as Pod).subarray(0, 40))).toThrow(
      "goes on past",
    );
  });

  it("of one template share its objects", () => {
    const read = createPodFrameReader(createPodProjection());
    const of = (name: string, more?: Partial<Pod>) =>
      read(frame("ADDED", stored(name, more))).object;
    const first = of("first");
    const second = of("second");
    expect(second.spec).toBe(first.spec);
    expect(second.metadata.labels).toBe(first.metadata.labels);
    const bound = of("bound", { spec: { nodeName: "n" } as Pod["spec"] });
    expect(bound.spec.containers).toBe(first.spec.containers);
    expect(bound.metadata.ownerReferences).toBe(first.metadata.ownerReferences);
  });

  it("differ if a container moves between containers and initContainers", () => {
    const read = createPodFrameReader(createPodProjection());
    const of = (names: readonly string[], init: readonly string[]) =>
      stored("a", {
        spec: {
          containers: names.map((name) => ({ name })),
          initContainers: init.map((name) => ({ name })),
        } as Pod["spec"],
      });
    const specs = [of(["a", "b"], ["c"]), of(["a"], ["b", "c"]), of(["ab"], ["c"])].map(
      (pod) => read(frame("ADDED", pod)).object.spec,
    );
    expect(new Set(specs).size).toBe(3);
  });

  it("that were deleted have their metadata only", () => {
    const read = createPodFrameReader(createPodProjection());
    const { metadata } = createPodProjection()(stored("gone"));
    const { type, object } = read(
      frame("DELETED", stored("gone", { spec: { nodeName: "n" } as never })),
    );
    expect({ type, metadata: object.metadata, spec: object.spec }).toEqual({
      type: "DELETED",
      metadata,
      spec: { containers: [] },
    });
  });

  it("in pages of a list equal the same pods in JSON", () => {
    const project = createPodProjection();
    const list = {
      apiVersion: "v1",
      kind: "PodList",
      metadata: { resourceVersion: "9" },
      items: PODS,
    };
    const read = createPodPageReader(createPodProjection());
    const { items, metadata } = read(encodeProtobuf(list));
    expect(items).toEqual(PODS.map(project));
    expect(items.every(Object.isFrozen)).toBe(true);
    expect(metadata).toMatchObject({ resourceVersion: "9" });
    const more = { ...list, metadata: { resourceVersion: "9", continue: "next" }, items: [] };
    expect(read(encodeProtobuf(more))).toEqual({ items: [], metadata: more.metadata });
    expect(() => read(encodeProtobuf(stored("a") as never))).toThrow(
      "a list of pods brought a Pod",
    );
  });

  it("come with ERROR and BOOKMARK events, whose objects are read as they are", () => {
    const read = createPodFrameReader(createPodProjection());
    const status = { apiVersion: "v1", kind: "Status", metadata: {}, code: 410, reason: "Expired" };
    expect(read(frame("ERROR", status as never))).toMatchObject({
      type: "ERROR",
      object: { code: 410, reason: "Expired" },
    });
    const bookmark = { apiVersion: "v1", kind: "Pod", metadata: { resourceVersion: "9" } } as never;
    expect(read(frame("BOOKMARK", bookmark))).toMatchObject({
      type: "BOOKMARK",
      object: { metadata: { resourceVersion: "9" } },
    });
  });

  it("give a Status if the server refuses the watch", () => {
    const status = {
      apiVersion: "v1",
      kind: "Status",
      code: 403,
      reason: "Forbidden",
      message: "no",
    };
    expect(readStatusBody(encodeProtobuf(status))).toEqual({
      code: 403,
      reason: "Forbidden",
      message: "no",
    });
    expect(readStatusBody(encodeProtobuf(stored("a") as never))).toBeUndefined();
  });

  it("throw an error that says why if the bytes are malformed", () => {
    const read = createPodFrameReader(createPodProjection());
    const whole = frame("ADDED", stored("a"));
    expect(() => read(whole.subarray(0, whole.length - 3))).toThrow("goes on past its message");
    expect(() => read(new Uint8Array([0xff, 0xff]))).toThrow("premature EOF");
    expect(() => read(new Uint8Array())).toThrow("without an object");
  });

  it("are read by the field numbers of Kubernetes' own protobuf definitions", () => {
    const url = new URL("../../../data/kubernetes/protobuf-fields.json", import.meta.url);
    const kubernetes = JSON.parse(readFileSync(url, "utf8")) as Record<
      string,
      Record<string, string>
    >;
    const renamed: Readonly<Record<string, string>> = {
      Condition: "PodCondition",
      Requirement: "NodeSelectorRequirement",
      ClaimSource: "PersistentVolumeClaimVolumeSource",
      EphemeralSource: "EphemeralVolumeSource",
      ClaimTemplate: "PersistentVolumeClaimTemplate",
      ClaimSpec: "PersistentVolumeClaimSpec",
    };
    // The recorded field numbers are those of 1.34. These fields were added in 1.35 (k8s.io/api
    // core/v1/generated.proto).
    const later: Readonly<Record<string, string>> = {
      "PodStatus 19": "allocatedResources",
      "PodStatus 20": "resources",
    };
    for (const [name, text] of Object.entries(MESSAGES)) {
      const own = renamed[name] ?? name;
      const known = kubernetes[`core.v1.${own}`] ?? kubernetes[`meta.v1.${own}`];
      for (const field of text.split(", ")) {
        const [number, fieldName] = field.split(" ") as [string, string];
        const theirs =
          known?.[number]?.split(" ")[0]?.replace("!", "") ?? later[`${name} ${number}`];
        const isInline = fieldName.startsWith("!");
        expect(isInline ? fieldName : theirs, `${name}.${fieldName}`).toBe(fieldName);
      }
    }
  });
});

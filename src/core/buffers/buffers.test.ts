import { describe, expect, it } from "vitest";
import type { CapacityBuffer } from "../../apis/autoscaling/capacity-buffer.ts";
import type { ResourceQuota } from "../../apis/core/kinds.ts";
import { provisioningConditions, withoutBufferPods } from "./feedback.ts";
import { Headroom } from "./headroom.ts";
import { bufferKeyOf, bufferPods, isBufferPod } from "./pods.ts";
import { allowedByQuotas } from "./quota.ts";
import { sizeNote, wantedPods } from "./size.ts";

const BUFFER: CapacityBuffer = {
  metadata: { name: "spare", namespace: "web", uid: "u-1" },
  spec: {},
};
const SPEC = {
  containers: [
    {
      name: "app",
      resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { memory: "2Gi" } },
      volumeMounts: [{ name: "data" }, { name: "scratch" }, { name: "own" }],
    },
  ],
  nodeName: "somewhere",
  volumes: [
    { name: "data", persistentVolumeClaim: { claimName: "bound" } },
    { name: "own", persistentVolumeClaim: { claimName: "none" } },
    { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: {} } } },
    { name: "tmp", emptyDir: {} },
  ],
};
const pods = (count: number, buffer = BUFFER) =>
  bufferPods(buffer, {
    template: { metadata: { labels: { app: "web" } }, spec: SPEC },
    count,
    isBound: (name) => name === "bound",
  });

describe("the virtual pods of a CapacityBuffer", () => {
  it("keep labels and bound volumes, but no volumes that would have to be created", () => {
    const [first, second] = pods(2);
    expect(first?.metadata.labels).toEqual({ app: "web" });
    expect(first?.spec.volumes?.map(({ name }) => name)).toEqual(["data", "tmp"]);
    expect(first?.spec.containers[0]).toMatchObject({ volumeMounts: [{ name: "data" }] });
    expect(first?.spec.nodeName).toBeUndefined();
    expect(first?.spec.priority).toBe(-2_147_483_648);
    expect(first?.spec).toBe(second?.spec);
    expect(first?.metadata.uid).not.toBe(second?.metadata.uid);
    expect(bufferKeyOf(first as never)).toBe("web/spare");
  });

  it("are recognized by a UID that no stored pod can have", () => {
    const [first] = pods(1);
    expect(isBufferPod(first as never)).toBe(true);
    const forged = { ...first, metadata: { ...first?.metadata, uid: "5d1c-1" } };
    expect(isBufferPod(forged as never)).toBe(false);
  });
});

describe("the number of virtual pods of a CapacityBuffer", () => {
  const each = { cpu: 500, memory: 2 ** 30, pods: 1 };
  it.each([
    ["replicas", { replicas: 3 }, undefined, 3],
    ["a share, rounded up", { percentage: 30 }, 5, 2],
    ["a share of at least one", { percentage: 0 }, 5, 1],
    ["no share of nothing", { percentage: 50 }, 0, 0],
    ["the larger of both", { replicas: 1, percentage: 50 }, 10, 5],
    ["a share without a workload", { replicas: 2, percentage: 50 }, undefined, 2],
    ["limits bound it", { replicas: 9, limits: { cpu: "2", memory: "3Gi" } }, undefined, 3],
    ["limits alone", { limits: { cpu: "2" } }, undefined, 4],
    ["limits of what no pod requests", { limits: { "nvidia.com/gpu": "2" } }, undefined, 0],
    ["an empty spec", {}, undefined, 0],
  ] as const)("%s", (_, spec, replicas, expected) => {
    const scalable = replicas === undefined ? undefined : { replicas };
    expect(wantedPods(spec, each, scalable)).toBe(expected);
  });

  it.each([
    [{ replicas: 3 }, undefined],
    [{ limits: { cpu: "3" } }, undefined],
    [
      { replicas: 20_000 },
      "spec.replicas: 20000 is more than the 10000 pods that a buffer may stand for",
    ],
    [
      { limits: { "nvidia.com/gpu": "3" } },
      "spec.limits: the pods request none of nvidia.com/gpu, so it gives no number of pods; set spec.replicas",
    ],
  ] as const)("%j is explained where it surprises", (spec, expected) => {
    expect(sizeNote(spec, each)).toBe(expected);
  });
});

describe("ResourceQuotas for a CapacityBuffer", () => {
  const [sample] = pods(1) as [never];
  const quota = (name: string, hard: object, used = {}, more = {}) =>
    ({ metadata: { name }, spec: { hard, ...more }, status: { hard, used } }) as ResourceQuota;

  it("allow what pods and earlier buffers have not used", () => {
    const cpu = quota("cpu", { "requests.cpu": "4" }, { "requests.cpu": "1500m" });
    expect(allowedByQuotas(9, { sample, quotas: [cpu], before: [] })).toEqual({
      count: 5,
      by: "cpu",
    });
    expect(allowedByQuotas(9, { sample, quotas: [cpu], before: pods(2) })).toEqual({
      count: 3,
      by: "cpu",
    });
    expect(allowedByQuotas(3, { sample, quotas: [cpu], before: [] })).toEqual({ count: 3 });
  });

  it("count pods and limits, and the smallest quota decides", () => {
    const few = quota("few", { pods: "3" });
    const memory = quota("memory", { "limits.memory": "5Gi" });
    expect(allowedByQuotas(9, { sample, quotas: [few, memory], before: [] })).toEqual({
      count: 2,
      by: "memory",
    });
  });

  it("with scopes do not apply", () => {
    const scoped = quota("scoped", { pods: "1" }, {}, { scopes: ["BestEffort"] });
    expect(allowedByQuotas(9, { sample, quotas: [scoped], before: [] })).toEqual({ count: 9 });
  });

  it("that are exceeded allow zero pods, not a negative number", () => {
    const full = quota("full", { pods: "1" }, { pods: "4" });
    expect(allowedByQuotas(2, { sample, quotas: [full], before: [] })).toEqual({
      count: 0,
      by: "full",
    });
  });
});

describe("the result of a provisioning pass", () => {
  const stored = { metadata: { name: "p", namespace: "web", uid: "x" }, spec: { containers: [] } };
  const other = { ...BUFFER, metadata: { ...BUFFER.metadata, name: "other", uid: "u-2" } };
  const [a, b, c] = pods(3) as [never, never, never];
  const result = {
    existing: [{ nodeName: "n", pods: [a, stored, ...pods(1, other)] }],
    newClaims: [{ pods: [b] }],
    unschedulable: [{ pod: c }],
  };

  it("sets the Provisioning condition of each CapacityBuffer", () => {
    const conditions = provisioningConditions(result as never);
    expect(conditions.get("web/spare")).toMatchObject({
      status: "False",
      reason: "RequiresNewCapacity",
      message: "1/3 virtual pods required new capacity, 1 failed",
    });
    expect(conditions.get("web/other")).toMatchObject({ status: "True" });
  });

  it("without virtual pods contains the stored pods only", () => {
    expect(withoutBufferPods(result as never)).toEqual({
      existing: [{ nodeName: "n", pods: [stored] }],
      newClaims: [],
      unschedulable: [],
    });
  });
});

describe("Headroom", () => {
  it("returns the removed virtual pods, and keeps the same list until it changes", () => {
    const headroom = new Headroom();
    const three = pods(3);
    expect(headroom.set("web/spare", three)).toEqual([]);
    const list = headroom.pods;
    expect(headroom.set("web/spare", three)).toEqual([]);
    expect(headroom.pods).toBe(list);
    expect(headroom.set("web/spare", pods(1))).toEqual(three.slice(1));
    expect(headroom.set("web/spare", [])).toHaveLength(1);
    expect(headroom.pods).toEqual([]);
  });
});

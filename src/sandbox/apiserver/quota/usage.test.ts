import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../apis/meta.ts";
import { usageOf } from "./usage.ts";

const PODS = { group: "", plural: "pods" };
const NOW_MS = Date.parse("2026-01-05T08:00:00Z");

function pod(spec: object, metadata: object = {}): KubeObject {
  return { metadata: { name: "a", ...metadata }, spec } as unknown as KubeObject;
}

function containers(resources: object): object {
  return { containers: [{ name: "c", resources }] };
}

describe("the usage of a pod in a ResourceQuota", () => {
  it("takes each resource from the pod level if it is set there, else from the containers", () => {
    const spec = {
      ...containers({ requests: { cpu: "1", memory: "1Gi" } }),
      resources: { requests: { cpu: "3" }, limits: { cpu: "4" } },
    };
    const usage = usageOf(PODS, pod(spec), NOW_MS);
    expect(usage).toMatchObject({ cpu: "3", "requests.memory": "1Gi", "limits.cpu": "4" });
  });

  it("includes the overhead in requests, and in limits that exist", () => {
    const spec = {
      ...containers({ requests: { cpu: "1" }, limits: { memory: "1Gi" } }),
      overhead: { cpu: "500m", memory: "1Gi" },
    };
    const usage = usageOf(PODS, pod(spec), NOW_MS);
    expect(usage).toMatchObject({ cpu: "1500m", memory: "1Gi", "limits.memory": "2Gi" });
    expect(usage).not.toHaveProperty("limits.cpu");
  });

  it("ends when the pod is long overdue: one grace period after its deletion time", () => {
    const leaving = (deletionTimestamp: string) =>
      usageOf(
        PODS,
        pod(containers({}), { deletionTimestamp, deletionGracePeriodSeconds: 30 }),
        NOW_MS,
      );
    expect(leaving("2026-01-05T07:59:45Z")).toHaveProperty("pods");
    expect(leaving("2026-01-05T07:59:29Z")).toEqual({ "count/pods": "1" });
  });
});

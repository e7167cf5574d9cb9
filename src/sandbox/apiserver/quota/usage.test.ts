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

describe("what a pod takes of a quota", () => {
  it("is what the pod as a whole asks for, where it says so", () => {
    const spec = {
      ...containers({ requests: { cpu: "1", memory: "1Gi" } }),
      resources: { requests: { cpu: "3" }, limits: { cpu: "4" } },
    };
    const usage = usageOf(PODS, pod(spec), NOW_MS);
    expect(usage).toMatchObject({ cpu: "3", "requests.memory": "1Gi", "limits.cpu": "4" });
  });

  it("has its overhead with requests, and with limits that there are", () => {
    const spec = {
      ...containers({ requests: { cpu: "1" }, limits: { memory: "1Gi" } }),
      overhead: { cpu: "500m", memory: "1Gi" },
    };
    const usage = usageOf(PODS, pod(spec), NOW_MS);
    expect(usage).toMatchObject({ cpu: "1500m", memory: "1Gi", "limits.memory": "2Gi" });
    expect(usage).not.toHaveProperty("limits.cpu");
  });

  it("is given back once it should long be gone: a grace period after its end", () => {
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

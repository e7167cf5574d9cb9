import { describe, expect, it } from "vitest";
import type { Pod } from "../apis/core/pod.ts";
import { createPodProjection } from "./pod-projection.ts";

/** A pod of a Deployment with a mounted token, as kube-apiserver stores it. */
function stored(name: string, nodeName?: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: name,
      resourceVersion: "1",
      labels: { app: "web" },
      annotations: { team: "red", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "r" }],
      managedFields: [{ manager: "kubelet" }],
    },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      containers: [
        { name: "c", image: "web", command: ["web"], resources: { requests: { cpu: "1" } } },
      ],
      tolerations: [{ key: "a", operator: "Exists" }],
      volumes: [
        { name: `kube-api-access-${name}`, projected: { sources: [] } },
        { name: "data", persistentVolumeClaim: { claimName: "data" } },
      ],
    },
    status: {
      phase: "Running",
      podIP: "10.0.0.1",
      allocatedResources: { cpu: "4" },
      resources: { requests: { cpu: "4" } },
      conditions: [
        { type: "Ready", status: "True", lastTransitionTime: `2026-01-01T00:00:0${name.length}Z` },
      ],
      containerStatuses: [
        { name: "c", ready: true, state: { running: {} }, resources: { requests: { cpu: "2" } } },
      ],
    },
  } as Pod;
}

describe("the projection of a pod", () => {
  it("has the fields that decisions need, and no others", () => {
    const project = createPodProjection();
    expect(project(stored("a", "node-1"))).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "a",
        namespace: "default",
        uid: "a",
        resourceVersion: "1",
        labels: { app: "web" },
        annotations: { team: "red" },
        ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "r" }],
      },
      spec: {
        nodeName: "node-1",
        containers: [{ name: "c", resources: { requests: { cpu: "1" } } }],
        tolerations: [{ key: "a", operator: "Exists" }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
      },
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "True" }],
        containerStatuses: [{ name: "c", ready: true, resources: { requests: { cpu: "2" } } }],
        allocatedResources: { cpu: "4" },
        resources: { requests: { cpu: "4" } },
      },
    });
  });

  it("shares equal parts between pods of one template", () => {
    const project = createPodProjection();
    const [first, second] = [project(stored("a", "node-1")), project(stored("bb", "node-2"))];
    expect(second.spec.containers).toBe(first.spec.containers);
    expect(second.metadata.labels).toBe(first.metadata.labels);
    expect(second.status?.conditions).toBe(first.status?.conditions);
    expect([first.spec.nodeName, second.spec.nodeName]).toEqual(["node-1", "node-2"]);
    expect(() => Object.assign(second.metadata.labels ?? {}, { app: "other" })).toThrow();
  });
});

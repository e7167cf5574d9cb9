import { describe, expect, it } from "vitest";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { instanceType } from "../../testing/builders.ts";
import { ON_DEMAND, poolManifest } from "../../testing/manifests.ts";
import { objectsOf } from "./documents.ts";
import { sortManifests } from "./manifests.ts";
import { planningInput } from "./planning-input.ts";

const NOW = Date.parse("2026-01-01T01:00:00Z");
const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 100m}}}]}`;
const BUFFER = `
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: room, namespace: shop}
spec: {replicas: 1, scalableRef: {apiGroup: apps, kind: Deployment, name: web}}`;

function autoscaler(more: string): string {
  return `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}${more}}
status: {recommendation: {containerRecommendations: [{containerName: main, target: {cpu: 700m}}]}}`;
}

async function read(documents: readonly string[], readsRecommendations: boolean) {
  const pool = poolManifest({ requirements: [ON_DEMAND] });
  const manifests = sortManifests(objectsOf("app.yaml", [pool, ...documents].join("\n---\n")));
  const cloud = { wellKnownLabels: [], typesOf: async () => [instanceType()], notes: [] };
  const policies = { preferencePolicy: "Respect", minValuesPolicy: "Strict" } as const;
  const settings = { ...policies, poolNames: [], readsRecommendations };
  return planningInput(manifests, cloud, settings, NOW);
}

async function requested(documents: readonly string[], reads: boolean) {
  const { input } = await read(documents, reads);
  return input.pods.map((pod) => podRequests(pod)["cpu"]);
}

describe("planned pods of a Deployment in a file", () => {
  it("get the requests that a VerticalPodAutoscaler recommends, and so do the pods of a CapacityBuffer for it", async () => {
    const documents = [DEPLOYMENT, BUFFER, autoscaler("")];
    expect(await requested(documents, true)).toEqual([700, 700]);
    expect(await requested(documents, false)).toEqual([100, 100]);
  });

  it("keep their own requests if the VerticalPodAutoscaler has the mode Off", async () => {
    const off = autoscaler(", updatePolicy: {updateMode: 'Off'}");
    expect(await requested([DEPLOYMENT, off], true)).toEqual([100]);
  });
});

describe("the notes of a plan", () => {
  it("say that VerticalPodAutoscalers have no effect, only if that is so", async () => {
    const said = async (reads: boolean, ...documents: readonly string[]) =>
      (await read([DEPLOYMENT, ...documents], reads)).notes.join();
    expect(await said(false, autoscaler(""))).toContain("VerticalPodAutoscalers have no effect");
    expect(await said(true, autoscaler(""))).toBe("");
    expect(await said(false)).toBe("");
  });
});

it("a VerticalPodAutoscaler without a target is refused, and the error names the field", () => {
  const text =
    "{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: a}, spec: {targetRef: {kind: Deployment}}}";
  expect(() => sortManifests(objectsOf("app.yaml", text))).toThrow(/spec\.targetRef\.name/);
});

import { describe, expect, it } from "vitest";
import type { ResourceRequirements } from "../core/pod.ts";
import {
  changesNewPods,
  type VerticalPodAutoscaler,
  withRecommendation,
} from "./vertical-pod-autoscaler.ts";

type Policy = NonNullable<
  NonNullable<NonNullable<VerticalPodAutoscaler["spec"]>["resourcePolicy"]>["containerPolicies"]
>[number];

const TARGET = { cpu: "500m", memory: "1Gi" };

function autoscaler(policies: readonly Policy[] = [], updateMode?: string): VerticalPodAutoscaler {
  return {
    metadata: { name: "vpa" },
    spec: {
      resourcePolicy: { containerPolicies: policies },
      ...(updateMode === undefined ? {} : { updatePolicy: { updateMode } }),
    },
    status: {
      recommendation: { containerRecommendations: [{ containerName: "app", target: TARGET }] },
    },
  };
}

function changed(policy: Policy, resources: ResourceRequirements, name = "app") {
  const one = withRecommendation({ name, resources }, autoscaler([policy]));
  return one.resources;
}

const RESOURCES = { requests: { cpu: "100m", memory: "256Mi" }, limits: { cpu: "200m" } };

describe("withRecommendation", () => {
  it("sets requests to the target, and limits in proportion", () => {
    expect(changed({}, RESOURCES)).toEqual({ requests: TARGET, limits: { cpu: "1" } });
    expect(changed({}, { limits: { memory: "2Gi" } })).toEqual({
      requests: TARGET,
      limits: { memory: "1Gi" },
    });
  });

  it("scales limits of many bytes exactly", () => {
    const resources = {
      requests: { memory: "3298534883331" },
      limits: { memory: "6597069766662" },
    };
    expect(changed({}, resources)?.limits).toEqual({ memory: "2Gi" });
  });

  it.each<[string, Policy, object]>([
    ["minAllowed", { minAllowed: { cpu: "2" } }, { cpu: "2", memory: "1Gi" }],
    ["maxAllowed", { maxAllowed: { memory: "512Mi" } }, { cpu: "500m", memory: "512Mi" }],
    [
      "maxAllowed before minAllowed",
      { minAllowed: { cpu: 3 }, maxAllowed: { cpu: 1 } },
      { cpu: "1", memory: "1Gi" },
    ],
    ["controlledResources", { controlledResources: ["memory"] }, { cpu: "100m", memory: "1Gi" }],
    ["mode Off", { mode: "Off" }, RESOURCES.requests],
    [
      "the limit, which stays",
      { controlledValues: "RequestsOnly" },
      { cpu: "200m", memory: "1Gi" },
    ],
    [
      "the limit below maxAllowed",
      { controlledValues: "RequestsOnly", maxAllowed: { cpu: "1" } },
      { cpu: "200m", memory: "1Gi" },
    ],
  ])("respects %s", (_, policy, requests) => {
    for (const containerName of ["app", "*"])
      expect(changed({ ...policy, containerName }, RESOURCES)?.requests).toEqual(requests);
    const isRequestsOnly = policy.controlledValues === "RequestsOnly";
    if (isRequestsOnly)
      expect(changed({ ...policy, containerName: "app" }, RESOURCES)?.limits).toEqual(
        RESOURCES.limits,
      );
  });

  it("prefers the policy of the container's name, and does not change other containers", () => {
    const policies = [{ containerName: "*", mode: "Off" }, { containerName: "app" }];
    const app = withRecommendation({ name: "app" }, autoscaler(policies));
    expect(app.resources).toEqual({ requests: TARGET });
    expect(changed({}, RESOURCES, "sidecar")).toBe(RESOURCES);
  });

  it("ignores a target that is no quantity", () => {
    const { status: _, ...plain } = autoscaler();
    const odd = {
      recommendation: {
        containerRecommendations: [{ containerName: "app", target: { cpu: "much" } }],
      },
    };
    expect(withRecommendation({ name: "app" }, { ...plain, status: odd })).toEqual({ name: "app" });
  });
});

describe("changesNewPods", () => {
  it.each([
    [undefined, true],
    ["Auto", true],
    ["Initial", true],
    ["Recreate", true],
    ["InPlaceOrRecreate", true],
    ["Off", false],
    ["Sometimes", false],
  ])("in mode %s: %s", (mode, changes) => {
    expect(changesNewPods(autoscaler([], mode))).toBe(changes);
  });

  it("is false without a recommendation", () => {
    expect(changesNewPods({ metadata: { name: "vpa" }, spec: {} })).toBe(false);
  });
});

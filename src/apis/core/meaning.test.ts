import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../base/json.ts";
import type { PodDisruptionBudget } from "../policy/kinds.ts";
import { isCurrentlyReschedulable, pdbBlock } from "../policy/pdb.ts";
import { hostPorts, hostPortsConflict } from "./host-ports.ts";
import { isProvisionable, type Pod, type PodSpec } from "./pod.ts";
import { doNotDisrupt, hasDoNotDisrupt, isDrainable } from "./pod-predicates.ts";
import { isResized, podLimits, podRequests } from "./pod-resources.ts";
import { matchesLabelSelector, matchesNodeSelectorTerm } from "./selectors.ts";
import { firstUntolerated, tolerates } from "./tolerations.ts";

const nowMs = Date.parse("2026-01-01T00:10:00Z");

function pod(spec: Partial<PodSpec> = {}, more: Partial<Pod> = {}): Pod {
  return {
    metadata: { name: "a", namespace: "default", labels: { app: "a" } },
    spec: { containers: [], ...spec },
    ...more,
  };
}

function requests(cpu: string, limit?: string) {
  return {
    name: `c${cpu}`,
    resources: { requests: { cpu }, ...(limit === undefined ? {} : { limits: { cpu: limit } }) },
  };
}

describe("tolerations", () => {
  const taint = { key: "a", value: "x", effect: "NoSchedule" } as const;

  it("match a taint by key, value and effect", () => {
    expect(tolerates([{ key: "a", value: "x", effect: "NoSchedule" }], taint)).toBe(true);
    expect(tolerates([{ key: "a", value: "y" }], taint)).toBe(false);
    expect(tolerates([{ key: "a", operator: "Exists", effect: "NoExecute" }], taint)).toBe(false);
    expect(tolerates([{ operator: "Exists" }], taint)).toBe(true);
    expect(tolerates(undefined, taint)).toBe(false);
  });

  it("compare taint values as numbers with Lt and Gt", () => {
    const numeric = { key: "n", value: "5", effect: "NoSchedule" } as const;
    expect(tolerates([{ key: "n", operator: "Gt", value: "4" }], numeric)).toBe(true);
    expect(tolerates([{ key: "n", operator: "Lt", value: "5" }], numeric)).toBe(false);
    expect(tolerates([{ key: "n", operator: "Gt", value: "x" }], numeric)).toBe(false);
  });

  it("can be checked against some taint effects only", () => {
    const soft = { key: "b", effect: "PreferNoSchedule" } as const;
    expect(firstUntolerated([], [soft])).toBe(soft);
    const effects = ["NoSchedule", "NoExecute"] as const;
    expect(firstUntolerated([], [soft], { effects })).toBeUndefined();
  });
});

describe("label and node selectors", () => {
  it("select nothing when absent and everything when empty", () => {
    expect(matchesLabelSelector(undefined, { a: "b" })).toBe(false);
    expect(matchesLabelSelector({}, { a: "b" })).toBe(true);
  });

  it("compare node labels as numbers with Gt and Lt", () => {
    const term = (operator: "Gt" | "Lt", value: string) => ({
      matchExpressions: [{ key: "n", operator, values: [value] }],
    });
    expect(matchesNodeSelectorTerm(term("Gt", "9"), { n: "10" })).toBe(true);
    expect(matchesNodeSelectorTerm(term("Lt", "9"), { n: "10" })).toBe(false);
    expect(matchesNodeSelectorTerm(term("Gt", "9"), {})).toBe(false);
    expect(matchesNodeSelectorTerm({}, { n: "10" })).toBe(false);
    const byName = {
      matchFields: [{ key: "metadata.name", operator: "In", values: ["x"] }],
    } as const;
    expect(matchesNodeSelectorTerm(byName, {}, { "metadata.name": "x" })).toBe(true);
  });
});

describe("the requests of a pod", () => {
  it("are the sum of its containers, or the maximum of its init phase", () => {
    const containers = [requests("500m"), requests("250m")];
    expect(podRequests(pod({ containers }))).toEqual({ cpu: 750, pods: 1 });
    expect(podRequests(pod({ containers, initContainers: [requests("2")] })).cpu).toBe(2_000);
    const sidecar = { ...requests("100m"), restartPolicy: "Always" };
    expect(podRequests(pod({ containers, initContainers: [sidecar] })).cpu).toBe(850);
    expect(podRequests(pod({ containers, initContainers: [sidecar, requests("1")] })).cpu).toBe(
      1_100,
    );
  });

  it("consider overhead, pod-level resources, limits without requests, and in-place resizes", () => {
    expect(podRequests(pod({ containers: [requests("1")], overhead: { cpu: "100m" } })).cpu).toBe(
      1_100,
    );
    const whole = { containers: [requests("1")], resources: { requests: { cpu: "3" } } };
    expect(podRequests(pod(whole)).cpu).toBe(3_000);
    const limited = { name: "l", resources: { limits: { memory: "1Ki" } } };
    expect(podRequests(pod({ containers: [limited] }))).toEqual({ memory: 1_024, pods: 1 });
    const status = {
      containerStatuses: [{ name: "c1", ready: true, allocatedResources: { cpu: "4" } }],
    };
    expect(podRequests(pod({ containers: [requests("1")] }, { status })).cpu).toBe(4_000);
    const shrinking = {
      containerStatuses: [{ name: "c1", ready: true, resources: { requests: { cpu: "3" } } }],
    };
    expect(podRequests(pod({ containers: [requests("1")] }, { status: shrinking })).cpu).toBe(
      3_000,
    );
    const infeasible = {
      ...shrinking,
      conditions: [{ type: "PodResizePending", status: "True", reason: "Infeasible" }],
    } as const;
    const wholeHeld = {
      allocatedResources: { cpu: "5" },
      resources: { requests: { cpu: "4", memory: "1Ki" } },
    };
    expect(podRequests(pod(whole, { status: wholeHeld }))).toEqual({ cpu: 5_000, pods: 1 });
    expect(podRequests(pod({ containers: [requests("1")] }, { status: wholeHeld })).cpu).toBe(
      1_000,
    );
    const { conditions } = { ...infeasible };
    const wide = { ...whole, resources: { requests: { cpu: "64" } } };
    expect(podRequests(pod(wide, { status: wholeHeld })).cpu).toBe(64_000);
    expect(podRequests(pod(wide, { status: { ...wholeHeld, conditions } })).cpu).toBe(5_000);
    const growing = { containers: [{ ...requests("64"), name: "c1" }] };
    expect(podRequests(pod(growing, { status: infeasible })).cpu).toBe(3_000);
    expect(podLimits(pod({ containers: [requests("1", "2"), requests("1")] }))).toEqual({
      cpu: 2_000,
    });
    const limitedAsWhole = {
      containers: [requests("1", "2"), requests("1", "2")],
      resources: { limits: { cpu: "3", memory: "1Ki" } },
      overhead: { cpu: "100m", pods: "1" },
    };
    expect(podLimits(pod(limitedAsWhole))).toEqual({ cpu: 3_100, memory: 1_024 });
  });
});

describe("the kubelet's allocatedResources of a pod, compared with its requests", () => {
  const held = deepFreeze([
    {
      name: "c1",
      ready: true,
      allocatedResources: { cpu: "1" },
      resources: { requests: { cpu: "1" } },
    },
  ]);
  const asking = (cpu: string) =>
    pod(
      { containers: deepFreeze([{ ...requests(cpu), name: "c1" }]) },
      { status: { containerStatuses: held } },
    );

  it.each([
    ["equal to its requests: its requests count", "1", false, 1_000],
    ["less, while it is resized up: its requests count", "2", false, 2_000],
    ["more, while it is resized down: what is allocated counts", "500m", true, 1_000],
  ])("%s", (_, cpu, isMore, counted) => {
    for (let time = 0; time < 2; time++) {
      expect(isResized(asking(cpu))).toBe(isMore);
      expect(podRequests(asking(cpu)).cpu).toBe(counted);
    }
  });
});

describe("a pod", () => {
  const unschedulable = {
    conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
  } as const;

  function ownedBy(apiVersion: string, kind: string): Pod {
    const ownerReferences = [{ apiVersion, kind, name: "o", uid: "u" }];
    return pod({}, { metadata: { name: "a", ownerReferences }, status: unschedulable });
  }

  it("is provisionable if it is unschedulable and neither bound, nominated, a DaemonSet's nor static", () => {
    expect(isProvisionable(pod({}, { status: unschedulable }))).toBe(true);
    expect(isProvisionable(pod())).toBe(false);
    expect(isProvisionable(pod({ nodeName: "n" }, { status: unschedulable }))).toBe(false);
    const status = { ...unschedulable, nominatedNodeName: "n" };
    expect(isProvisionable(pod({}, { status }))).toBe(false);
    expect(isProvisionable(ownedBy("apps/v1", "DaemonSet"))).toBe(false);
    expect(isProvisionable(ownedBy("v1", "Node"))).toBe(false);
    expect(isProvisionable(ownedBy("apps/v1", "ReplicaSet"))).toBe(true);
  });

  it("is protected by do-not-disrupt, for ever or for the duration in its value", () => {
    const with_ = (key: string, value: string) =>
      pod(
        {},
        {
          metadata: { name: "a", annotations: { [`karpenter.sh/${key}`]: value } },
          status: { startTime: "2026-01-01T00:00:00Z" },
        },
      );
    expect(hasDoNotDisrupt(with_("do-not-disrupt", "true"), nowMs)).toBe(true);
    expect(hasDoNotDisrupt(with_("do-not-evict", "true"), nowMs)).toBe(true);
    expect(hasDoNotDisrupt(with_("do-not-disrupt", "11m"), nowMs)).toBe(true);
    expect(hasDoNotDisrupt(with_("do-not-disrupt", "10m"), nowMs)).toBe(false);
    expect(doNotDisrupt(with_("do-not-disrupt", "soon"), nowMs).kind).toBe("invalid");
    expect(hasDoNotDisrupt(with_("do-not-disrupt", "soon"), nowMs)).toBe(false);
  });

  it("is not drainable if it tolerates the disruption taint or is stuck terminating", () => {
    const tolerating = pod({
      tolerations: [{ key: "karpenter.sh/disrupted", operator: "Exists" }],
    });
    expect(isDrainable(tolerating, nowMs)).toBe(false);
    expect(isDrainable(pod(), nowMs)).toBe(true);
    const gone = { name: "a", deletionTimestamp: "2026-01-01T00:08:59Z" };
    expect(isDrainable(pod({}, { metadata: gone }), nowMs)).toBe(false);
  });
});

describe("host ports", () => {
  it("collide on port and protocol unless the addresses differ", () => {
    const one = { ip: "0.0.0.0", port: 80, protocol: "TCP" };
    expect(hostPortsConflict(one, { ...one, ip: "10.0.0.1" })).toBe(true);
    expect(hostPortsConflict({ ...one, ip: "10.0.0.2" }, { ...one, ip: "10.0.0.1" })).toBe(false);
    expect(hostPortsConflict(one, { ...one, protocol: "UDP" })).toBe(false);
    const ports = [{ containerPort: 80, hostPort: 8080 }, { containerPort: 81 }];
    expect(hostPorts(pod({ containers: [{ name: "a", ports }] }))).toEqual([
      { ip: "0.0.0.0", port: 8080, protocol: "TCP" },
    ]);
  });
});

describe("PodDisruptionBudgets", () => {
  function budget(name: string, allowed: number, more: object = {}): PodDisruptionBudget {
    return {
      metadata: { name, namespace: "default" },
      spec: { selector: { matchLabels: { app: "a" } }, ...more },
      status: { disruptionsAllowed: allowed },
    };
  }

  it("block a pod if disruptionsAllowed is 0, or if there are two", () => {
    expect(pdbBlock(pod(), [budget("x", 1)])).toBeUndefined();
    expect(pdbBlock(pod(), [budget("x", 0)])).toEqual({
      reason: "noDisruptionsAllowed",
      pdbs: ["default/x"],
    });
    expect(pdbBlock(pod(), [budget("y", 1), budget("x", 1)])).toEqual({
      reason: "multiple",
      pdbs: ["default/x", "default/y"],
    });
    const elsewhere = { ...budget("x", 0), metadata: { name: "x", namespace: "other" } };
    expect(pdbBlock(pod(), [elsewhere])).toBeUndefined();
  });

  it("allow the eviction of pods that are not Ready with AlwaysAllow", () => {
    const always = budget("x", 0, { unhealthyPodEvictionPolicy: "AlwaysAllow" });
    expect(pdbBlock(pod(), [always])).toBeUndefined();
    const ready = { conditions: [{ type: "Ready", status: "True" }] } as const;
    expect(pdbBlock(pod({}, { status: ready }), [always])).toBeDefined();
  });

  const mayMove = (of: Pod, ...guards: readonly PodDisruptionBudget[]) =>
    isCurrentlyReschedulable(of, guards, nowMs);

  it("block rescheduling if they can never allow a disruption", () => {
    expect(mayMove(pod(), budget("x", 0, { maxUnavailable: 0 }))).toBe(false);
    expect(mayMove(pod(), budget("x", 0, { minAvailable: "100%" }))).toBe(false);
    expect(mayMove(pod(), budget("x", 0, { maxUnavailable: 1 }))).toBe(true);
    // The eviction API refuses every eviction of a pod with two budgets, even if both allow it.
    const always = { unhealthyPodEvictionPolicy: "AlwaysAllow" };
    expect(mayMove(pod(), budget("x", 1, always), budget("y", 1, always))).toBe(false);
  });

  it("do not block the rescheduling of a StatefulSet's pod that is being deleted", () => {
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "a", uid: "u" };
    const of = (more: object) => {
      const ownerReferences = [{ ...owner, controller: true }];
      return pod({}, { metadata: { ...pod().metadata, ownerReferences, ...more } });
    };
    const annotations = { "karpenter.sh/do-not-disrupt": "true" };
    const guards = [budget("x", 1), budget("y", 1)];
    const deletionTimestamp = "2026-01-01T00:10:30Z";
    expect(mayMove(of({}), ...guards)).toBe(false);
    expect(mayMove(of({ deletionTimestamp }), ...guards)).toBe(true);
    expect(mayMove(of({ annotations }))).toBe(false);
    expect(mayMove(of({ annotations, deletionTimestamp }))).toBe(true);
  });
});

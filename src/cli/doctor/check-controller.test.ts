/** The doctor's checks of the controller's pods, and how remedies are printed. Without a cluster. */
import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import type { Lease } from "../../apis/policy/kinds.ts";
import { printedChecks } from "../checks/checks.ts";
import { checkController, checkLead } from "./check-controller.ts";
import type { DoctorFacts } from "./facts.ts";

const controllerPod = (name: string, status: object) =>
  ({
    metadata: { name, namespace: "karpenter" },
    spec: { containers: [] },
    status,
  }) as unknown as Pod;
const waitingFor = (state: object, lastState: object = {}) =>
  controllerPod("karpenter-0", {
    containerStatuses: [{ name: "controller", ready: false, state: { waiting: state }, lastState }],
  });

const FACTS = {
  namespace: "karpenter",
  leases: [],
  missingLeaseNamespaces: [],
  unread: [],
  deployments: [{ metadata: { name: "karpenter" }, spec: { replicas: 1 } }],
} as unknown as DoctorFacts;

describe("karpenter doctor about the controller", () => {
  it.each<[string, Pod, string, string]>([
    [
      "an image that cannot be pulled",
      waitingFor({ reason: "ImagePullBackOff", message: "not found" }),
      "ImagePullBackOff: not found",
      "controller.image.repository",
    ],
    [
      "a crash",
      waitingFor({ reason: "CrashLoopBackOff" }, { terminated: { exitCode: 1 } }),
      "It ended with exit code 1 and is started again",
      "kubectl -n karpenter logs karpenter-0 --previous",
    ],
    [
      "too little memory",
      waitingFor({ reason: "CrashLoopBackOff" }, { terminated: { reason: "OOMKilled" } }),
      "used too much memory",
      "controller.resources.limits.memory",
    ],
    [
      "no room",
      controllerPod("karpenter-0", {
        conditions: [{ type: "PodScheduled", status: "False", message: "0/1 nodes are available" }],
      }),
      "It has no node: 0/1 nodes are available",
      "nodes that are not Karpenter's",
    ],
    [
      "anything else",
      waitingFor({ reason: "ContainerCreating" }),
      "It is not ready: ContainerCreating",
      "describe pod karpenter-0",
    ],
  ])("says why a pod of the controller is not ready: %s", (_, pod, says, remedy) => {
    const checks = checkController({ ...FACTS, controllerPods: [pod] });
    const found = checks.find(({ area, state }) => area === "controller" && state === "todo");
    expect(found?.says).toContain(says);
    expect(found?.remedy).toContain(remedy);
  });

  it("says to scale up a Deployment without replicas, unless another controller leads", () => {
    const deployments = [{ metadata: { name: "karpenter" }, spec: { replicas: 0 } }];
    const held = {
      metadata: { name: "karpenter-leader-election", namespace: "karpenter" },
      spec: { holderIdentity: "other", renewTime: "2026-01-02T00:00:00Z" },
    };
    const nowMs = Date.parse("2026-01-02T00:00:05Z");
    const facts = { ...FACTS, deployments, controllerPods: [], nowMs } as unknown as DoctorFacts;
    expect(checkController(facts)).toMatchObject([{ state: "todo", says: "It is scaled to 0" }]);
    const leases = [held] as unknown as DoctorFacts["leases"];
    expect(checkController({ ...facts, leases })).toMatchObject([{ state: "ready" }]);
    const later = { ...facts, leases, nowMs: nowMs + 60_000 };
    expect(checkController(later)).toMatchObject([{ state: "todo" }]);
    const [led] = checkLead({ ...later, deployments: [] });
    expect(led?.remedy).toContain("their log says why");
    const [stopped] = checkLead(later);
    expect(stopped?.remedy).toBe("scale the controller up: no pod of it is there to lead");
    const containers = [{ name: "controller", env: [{ name: "OBSERVE_ONLY", value: "true" }] }];
    const observer = {
      metadata: { name: "karpenter", namespace: "karpenter" },
      spec: { replicas: 1, template: { spec: { containers } } },
    } as unknown as DoctorFacts["deployments"][number];
    const [observed] = checkLead({ ...later, deployments: [observer] });
    expect(observed?.remedy).toContain("only an observer runs");
  });

  it("requires a holder for each Deployment's own Lease, and ignores a Lease that another Deployment left behind", () => {
    const lease = (name: string, holderIdentity: string, renewTime: string) =>
      ({
        metadata: { name, namespace: "karpenter" },
        spec: { holderIdentity, renewTime },
      }) as unknown as Lease;
    const [now, old] = ["2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"];
    const containers = [
      { name: "controller", env: [{ name: "LEADER_ELECTION_NAME", value: "mine" }] },
    ];
    const deployments = [
      {
        metadata: { name: "karpenter", namespace: "karpenter" },
        spec: { replicas: 1, template: { spec: { containers } } },
      },
    ];
    const facts = { ...FACTS, deployments, nowMs: Date.parse(now) } as unknown as DoctorFacts;
    const leftOver = lease("karpenter-leader-election", "gone", old);
    const leftOverReady = {
      item: "karpenter/karpenter-leader-election",
      state: "ready",
      says: "gone has not renewed it for 24h0m0s, but no Deployment in karpenter that runs uses it",
    };
    expect(checkLead({ ...facts, leases: [leftOver, lease("mine", "me", now)] })).toMatchObject([
      leftOverReady,
      { item: "karpenter/mine", state: "ready", says: "me leads" },
    ]);
    expect(checkLead({ ...facts, leases: [leftOver] })).toMatchObject([
      { item: "karpenter/mine", state: "todo" },
      leftOverReady,
    ]);
    const homeless = { ...facts, leases: [leftOver], missingLeaseNamespaces: ["karpenter"] };
    expect(checkLead(homeless)).toMatchObject([
      { item: "karpenter/mine", says: "Namespace karpenter of the Lease does not exist" },
      leftOverReady,
    ]);
    expect(checkLead({ ...facts, leases: [lease("mine", "me", old)] })).toMatchObject([
      { item: "karpenter/mine", state: "todo", says: "me has not renewed it for 24h0m0s" },
    ]);
  });

  it("prints a remedy once, even if several items need it", () => {
    const check = { area: "rights", state: "todo", says: "no", remedy: "do this" } as const;
    const text = printedChecks(
      [
        { ...check, item: "a" },
        { ...check, item: "b" },
      ],
      {
        output: "text",
        version: "1",
      },
    );
    expect(text).toContain("  rights a and 1 more: do this\n");
    expect(text.match(/do this/g)).toHaveLength(1);
  });
});

import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { atOnce } from "../../base/steps.ts";
import { instanceType, nodeClaim, nodeView, pod, pool } from "../../testing/builders.ts";
import type { NodeView } from "../state/node-view.ts";
import { type DisruptionClass, findCandidates } from "./candidates.ts";
import { evictionCost } from "./eviction-cost.ts";

const NOW = Date.UTC(2026, 0, 5);

function view(
  options: {
    pods?: readonly Pod[];
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    deleting?: boolean;
    nominatedUntilMs?: number;
  } = {},
): NodeView {
  return nodeView({
    node: {
      name: "n",
      labels: {
        "karpenter.sh/nodepool": "default",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        "node.kubernetes.io/instance-type": "m-4x",
        "karpenter.sh/capacity-type": "spot",
        ...options.labels,
      },
      ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
    },
    claim: nodeClaim({ name: "n" }),
    pods: options.pods ?? [],
    deleting: options.deleting ?? false,
    nominatedUntilMs: options.nominatedUntilMs ?? 0,
  });
}

function find(
  node: NodeView,
  pdbs: readonly PodDisruptionBudget[] = [],
  pools = [pool()],
  disruptionClass: DisruptionClass = "graceful",
) {
  return atOnce(
    findCandidates({
      nowMs: NOW,
      nodes: [node],
      pools: pools.map((one) => ({ pool: one, instanceTypes: [instanceType()] })),
      pdbs,
      queued: new Set(),
      disruptionClass,
    }),
  );
}

const running = (options: Parameters<typeof pod>[0] = {}) =>
  pod({ nodeName: "n", owner: { kind: "ReplicaSet", name: "r" }, ...options });
const PDB: PodDisruptionBudget = {
  metadata: { name: "guard", namespace: "default" },
  spec: { selector: { matchLabels: { app: "a" } }, minAvailable: 1 },
  status: { disruptionsAllowed: 0 },
};

describe("candidates", () => {
  it("have the price of the node and the cost of moving its pods", () => {
    const [one] = find(view({ pods: [running({ name: "a" }), running({ name: "b" })] })).candidates;
    expect(one).toMatchObject({ priceMicroUsd: 140_000, rescheduleCost: 3, capacityType: "spot" });
  });

  it.each([
    [
      "S2-25 annotated",
      view({ annotations: { "karpenter.sh/do-not-disrupt": "true" } }),
      'disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
    ],
    [
      "not initialized",
      view({ labels: { "karpenter.sh/initialized": "" } }),
      "node isn't initialized",
    ],
    ["deleting", view({ deleting: true }), "node is deleting or marked for deletion"],
    ["nominated", view({ nominatedUntilMs: NOW + 1 }), "node is nominated for a pending pod"],
    [
      "with a do-not-disrupt pod",
      view({ pods: [running({ annotations: { "karpenter.sh/do-not-disrupt": "true" } })] }),
      'pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/pod)',
    ],
    [
      "S2-24 with a do-not-evict pod",
      view({ pods: [running({ annotations: { "karpenter.sh/do-not-evict": "true" } })] }),
      'pod has "karpenter.sh/do-not-evict" annotation (Pod=default/pod)',
    ],
    [
      "with a pod protected by a PodDisruptionBudget",
      view({ pods: [running({ labels: { app: "a" } })] }),
      "pdb prevents pod evictions (PodDisruptionBudget=[default/guard])",
    ],
  ])("exclude a node that is %s", (_, node, message) => {
    const { candidates, blocked } = find(node, [PDB]);
    expect(candidates).toEqual([]);
    expect(blocked.map((one) => one.message)).toEqual([message]);
  });

  it("may be blocked by pods, except for drift and expiry with a terminationGracePeriod", () => {
    const annotations = { "karpenter.sh/do-not-disrupt": "true" };
    const held = view({ pods: [running({ annotations }), running({ labels: { app: "a" } })] });
    const claim = nodeClaim({ name: "n" });
    const bounded = { ...claim, spec: { ...claim.spec, terminationGracePeriod: "10m" } };
    const counts = (node: NodeView, disruptionClass: DisruptionClass) =>
      find(node, [PDB], [pool()], disruptionClass).candidates.length;
    expect(counts(held, "eventual")).toBe(0);
    expect(counts({ ...held, claim: bounded }, "eventual")).toBe(1);
    expect(counts({ ...held, claim: bounded }, "graceful")).toBe(0);
  });

  it("ignore the do-not-disrupt annotation of a pod that has ended", () => {
    const annotations = { "karpenter.sh/do-not-disrupt": "true" };
    const inPhase = (phase: "Succeeded" | "Pending"): Pod => ({
      ...running({ annotations }),
      status: { phase },
    });
    expect(find(view({ pods: [inPhase("Succeeded")] })).candidates).toHaveLength(1);
    expect(find(view({ pods: [inPhase("Pending")] })).candidates).toEqual([]);
  });

  it("read the pods of an unchanged node view only once", () => {
    const node = view({ pods: [running()] });
    let looks = 0;
    const counted: NodeView = {
      ...node,
      get pods() {
        looks++;
        return node.pods;
      },
    };
    find(counted);
    const atFirst = looks;
    find(counted);
    // `find` returns another pool object each time, so the candidate is made again. The list of its pods is reused.
    expect(looks - atFirst).toBe(1);
  });

  it("exclude a node whose NodePool does not exist", () => {
    expect(find(view(), [], []).blocked[0]?.message).toBe("NodePool not found (NodePool=default)");
  });

  it("cost more to move with a higher pod deletion cost or priority, within bounds", () => {
    const cost = (text: string) =>
      evictionCost(pod({ annotations: { "controller.kubernetes.io/pod-deletion-cost": text } }));
    expect(cost("0")).toBe(1);
    expect(cost("134217728")).toBe(2);
    expect(cost("-2147483647")).toBe(-10);
    expect(cost("not a number")).toBe(1);
    expect(cost("2147483648")).toBe(1);
    expect(cost("134217728.0")).toBe(1);
    expect(evictionCost(pod({ spec: { priority: 2_000_000_000 } }))).toBe(10);
  });
});

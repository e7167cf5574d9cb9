import { describe, expect, it } from "vitest";
import type { VerticalPodAutoscaler } from "../../apis/autoscaling/vertical-pod-autoscaler.ts";
import { deepFreeze } from "../../base/json.ts";
import { atOnce } from "../../base/steps.ts";
import {
  instanceType,
  nodeClaim,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
} from "../../testing/builders.ts";
import { WhatIf } from "../provisioning/what-if/what-if.ts";
import { createClusterState } from "./create-cluster-state.ts";
import { Recommendations } from "./recommendations.ts";

interface Told {
  readonly name?: string;
  readonly kind?: string;
  readonly target?: string;
  readonly cpu: string;
  readonly createdAt?: string;
}

function autoscaler({
  name = "vpa",
  kind = "Deployment",
  target = "web",
  cpu,
  createdAt = "2026-01-02T00:00:00Z",
}: Told): VerticalPodAutoscaler {
  return {
    metadata: { name, namespace: "default", creationTimestamp: createdAt },
    spec: { targetRef: { apiVersion: "apps/v1", kind, name: target } },
    status: {
      recommendation: { containerRecommendations: [{ containerName: "main", target: { cpu } }] },
    },
  };
}

const WEB = { app: "web", "pod-template-hash": "5d4c" };
const OF_WEB = { kind: "ReplicaSet", name: "web-5d4c" };
const running = deepFreeze(
  pod({ name: "web-5d4c-a", nodeName: "a", cpu: "1", labels: WEB, owner: OF_WEB }),
);

function cpuAfterMove(told: readonly Told[], moving = running): unknown {
  const next = new Recommendations(told.map(autoscaler)).successor(moving);
  return next.spec.containers[0]?.resources?.requests?.cpu;
}

describe("the successor of a pod", () => {
  it("requests what is recommended for its Deployment, StatefulSet or ReplicaSet", () => {
    expect(cpuAfterMove([{ cpu: "3" }])).toBe("3");
    const set = pod({ nodeName: "a", owner: { kind: "StatefulSet", name: "db" } });
    expect(cpuAfterMove([{ kind: "StatefulSet", target: "db", cpu: "3" }], set)).toBe("3");
    const bare = pod({ nodeName: "a", owner: { kind: "ReplicaSet", name: "web-5d4c" } });
    expect(cpuAfterMove([{ kind: "ReplicaSet", target: "web-5d4c", cpu: "3" }], bare)).toBe("3");
  });

  it("is the same pod if nothing is recommended for its workload, or it has no node yet", () => {
    const same = (told: Told, one = running) =>
      new Recommendations([autoscaler(told)]).successor(one) === one;
    expect(same({ cpu: "3", target: "other" })).toBe(true);
    expect(same({ cpu: "3", kind: "ReplicaSet", target: "web-5d4c" })).toBe(true);
    expect(same({ cpu: "3" }, pod({ labels: WEB, owner: OF_WEB }))).toBe(true);
    expect(same({ cpu: "3" }, pod({ nodeName: "a" }))).toBe(true);
    expect(same({ cpu: "3" })).toBe(false);
  });

  it("follows the oldest of several VerticalPodAutoscalers, then the first by name", () => {
    const told = [
      { name: "b", cpu: "2" },
      { name: "a", cpu: "3" },
      { name: "c", cpu: "4", createdAt: "2026-01-01T00:00:00Z" },
    ];
    expect([cpuAfterMove(told), cpuAfterMove(told.toReversed())]).toEqual(["4", "4"]);
    const alike = told.slice(0, 2);
    expect([cpuAfterMove(alike), cpuAfterMove(alike.toReversed())]).toEqual(["3", "3"]);
  });

  it("shares its containers with pods of the same template, and has no status", () => {
    const recommendations = new Recommendations([autoscaler({ cpu: "3" })]);
    const held = { ...running, status: { phase: "Running" as const } };
    const [a, b] = [recommendations.successor(held), recommendations.successor(running)];
    expect(a.spec.containers).toBe(b.spec.containers);
    expect(a.status).toBe(undefined);
  });
});

describe("removal of a node whose pods have higher recommendations", () => {
  const labels = { "karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true" };
  const own = (name: string, pods = [pod({ name: `on-${name}`, nodeName: name, cpu: "2" })]) =>
    nodeView({
      node: { name, labels, capacity: { cpu: "4" } },
      claim: nodeClaim({ name, metadata: { labels } }),
      pods,
    });
  const nodes = [own("a", [running]), own("b")];
  const pools = [poolInput({}, [instanceType({ cpu: 8 })])];
  const asked = (autoscalers: readonly VerticalPodAutoscaler[]) =>
    schedulingInput({ nodes, pools, autoscalers });

  it("needs a new node that is large enough for the recommended requests", () => {
    const plain = atOnce(
      atOnce(WhatIf.of(schedulingInput({ nodes, pools }))).without(["a"], [running]),
    );
    expect(plain.existing.map(({ pods }) => pods)).toEqual([[running]]);
    const { newClaims, existing } = atOnce(
      atOnce(WhatIf.of(asked([autoscaler({ cpu: "3" })]))).without(["a"], [running]),
    );
    expect(existing).toEqual([]);
    expect(newClaims.map(({ pods }) => pods)).toEqual([[running]]);
    expect(newClaims[0]?.requests).toMatchObject({ cpu: 3_000 });
  });

  it("prepares WhatIf again if a recommendation changes", () => {
    const first = autoscaler({ cpu: "3" });
    const whatIf = atOnce(WhatIf.of(asked([first])));
    expect(atOnce(whatIf.follow(asked([first])))).toBe(true);
    expect(atOnce(whatIf.follow(asked([autoscaler({ cpu: "1" })])))).toBe(false);
  });
});

describe("the pod of a DaemonSet", () => {
  it("requests what is recommended, even if a running pod requests less", () => {
    const state = createClusterState();
    const cpu = () => state.daemonPods()[0]?.spec.containers[0]?.resources?.requests?.cpu;
    state.updateDaemonSet({
      metadata: { name: "agent", namespace: "default" },
      spec: {
        selector: {},
        template: {
          spec: { containers: [{ name: "main", resources: { requests: { cpu: "1" } } }] },
        },
      },
    });
    const told = autoscaler({ kind: "DaemonSet", target: "agent", cpu: "3" });
    state.admission.updateAutoscaler(told);
    expect(cpu()).toBe("3");
    const owner = { kind: "DaemonSet", name: "agent" };
    state.updatePod(pod({ name: "agent-1", nodeName: "a", cpu: "2", owner }));
    expect(cpu()).toBe("3");
    const { revision } = state.admission;
    state.admission.updateAutoscaler({
      ...told,
      metadata: { ...told.metadata, resourceVersion: "9" },
    });
    expect(state.admission.revision).toBe(revision);
    expect(state.admission.autoscalers).toEqual([told]);
    state.admission.updateAutoscaler(autoscaler({ kind: "DaemonSet", target: "agent", cpu: "4" }));
    expect(cpu()).toBe("4");
    state.admission.deleteAutoscaler(told);
    expect(cpu()).toBe("2");
  });
});

/** The pod that a DaemonSet makes for a node. The node affinity of the template must not change its node. */
import { expect, it } from "vitest";
import type { DaemonSet } from "../../../apis/apps/kinds.ts";
import type { NodeSelectorTerm } from "../../../apis/core/pod.ts";
import { daemonPod, podsByNode } from "./daemon-pod.ts";

function agent(nodeSelectorTerms: readonly NodeSelectorTerm[]): DaemonSet {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent", namespace: "default", uid: "set" },
    spec: {
      selector: { matchLabels: { app: "agent" } },
      template: {
        metadata: { labels: { app: "agent" } },
        spec: {
          containers: [{ name: "main" }],
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
              preferredDuringSchedulingIgnoredDuringExecution: [],
            },
          },
        },
      },
    },
  };
}

const NOT_BAD: NodeSelectorTerm = {
  matchExpressions: [{ key: "kubernetes.io/os", operator: "In", values: ["linux"] }],
  matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["bad"] }],
};

it("a daemon pod is pinned to one node, and the template's own node affinity is removed", () => {
  const pod = daemonPod(agent([NOT_BAD]), "1", "good", { name: "agent-1" });
  expect(pod.spec.affinity?.nodeAffinity).toEqual({
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        { matchFields: [{ key: "metadata.name", operator: "In", values: ["good"] }] },
      ],
    },
    preferredDuringSchedulingIgnoredDuringExecution: [],
  });
});

it("a pending daemon pod counts for the node in its affinity, not for a node that its template excludes", () => {
  const pod = daemonPod(agent([NOT_BAD]), "1", "good", { name: "agent-1" });
  expect([...podsByNode([pod]).keys()]).toEqual(["good"]);
  const bare = { ...pod, spec: agent([NOT_BAD]).spec.template.spec };
  expect([...podsByNode([bare]).keys()]).toEqual([]);
});

import { expect, it } from "vitest";
import { deepFreeze } from "../../../base/json.ts";
import { nodeView, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { solve } from "../solve.ts";
import { readPod } from "./pod-class.ts";
import { wishesOf } from "./preferences.ts";

const SETTINGS = { preferencePolicy: "Respect", wellKnownLabels: [] } as const;

function asking(operator: string) {
  const nodeSelectorTerms = [{ matchExpressions: [{ key: "disk", operator, values: ["ssd"] }] }];
  const requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms };
  const spec = {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution } },
  } as object;
  return deepFreeze(pod({ spec }));
}

it("does not read fields of a pod that planning must not use", () => {
  expect(() => wishesOf(asking("Likes").spec, "Respect", [])).toThrow();
  expect(() => readPod(asking("Likes"), SETTINGS)).not.toThrow();
  expect(() => readPod(asking("In"), SETTINGS)).not.toThrow();
});

it("a spread that is one object in two workloads counts pods on the nodes that each may use", () => {
  const labels = { app: "web" };
  const zone = "topology.kubernetes.io/zone";
  // A YAML anchor makes it one object.
  const shared = {
    topologyKey: zone,
    maxSkew: 1,
    whenUnsatisfiable: "DoNotSchedule" as const,
    labelSelector: { matchLabels: labels },
  };
  const spec = { topologySpreadConstraints: [shared] };
  const full = nodeView({
    node: { name: "full", labels: { [zone]: "zone-a" }, capacity: { cpu: "2" } },
    pods: ["x", "y"].map((name) => pod({ name, labels, cpu: "1", nodeName: "full" })),
  });
  const anywhere = pod({ name: "anywhere", labels, spec });
  const onTeam = pod({ name: "on-team", labels, spec: { ...spec, nodeSelector: { team: "a" } } });
  const inA = [{ key: zone, operator: "In" as const, values: ["zone-a"] }];
  const pools = [
    poolInput({ name: "open" }),
    poolInput({ name: "team", labels: { team: "a" }, requirements: inA }),
  ];
  const plan = solve(schedulingInput({ nodes: [full], pods: [anywhere, onTeam], pools }));
  expect(plan.unschedulable).toEqual([]);
});

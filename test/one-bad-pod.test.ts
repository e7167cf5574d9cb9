/**
 * One pod that asks for what no claim may say does not keep others without a node: the API server, which judges each
 * claim by its schema, sees none that repeats it.
 */
import { afterEach, describe, it } from "vitest";
import type { NodeSelectorRequirement, Pod } from "../src/apis/core/pod.ts";
import { openWorld, type TestWorld } from "./world.ts";

const POOL = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
spec: {}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: example.com/rank, operator: Exists}
`;

type Kind = "required" | "preferred";

function asking(kind: Kind, expression: NodeSelectorRequirement): Pod["spec"]["affinity"] {
  const term = { matchExpressions: [expression] };
  return {
    nodeAffinity:
      kind === "required"
        ? { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } }
        : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: term }] },
  };
}

const podNamed = (name: string, affinity: Pod["spec"]["affinity"] = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    affinity,
    // The box has nodes of its own.
    nodeSelector: { "karpenter.sh/nodepool": "default" },
    containers: [{ name: "c", image: "pause", resources: { requests: { cpu: "100m" } } }],
  },
});

const RANK = "example.com/rank";

let world: TestWorld;
afterEach(() => world.close());

describe("of two pods that would share a node the good one gets it", () => {
  it.each<[Kind, NodeSelectorRequirement["operator"], string, string]>([
    ["required", "NotIn", RANK, "bad value!"],
    ["required", "Lt", RANK, "99999999999999999999999"],
    ["required", "Lt", RANK, "0"],
    ["required", "NotIn", "karpenter.k8s.aws/nope", "x"],
    ["preferred", "NotIn", RANK, "bad value!"],
    ["preferred", "Gt", RANK, "-5"],
    ["preferred", "Lt", RANK, "99999999999999999999999"],
    ["preferred", "NotIn", "karpenter.sh/nope", "x"],
    ["preferred", "NotIn", "karpenter.k8s.aws/nope", "x"],
  ])("where the other has %s %s on %s of %s", async (kind, operator, key, value) => {
    world = await openWorld({ provider: "kwok" });
    await world.apply(POOL);
    const bad = podNamed("bad", asking(kind, { key, operator, values: [value] }));
    await world.apply([bad, podNamed("good")].map((one) => JSON.stringify(one)).join("\n---\n"));
    const isBound = async (name: string) =>
      (await world.get<Pod>("Pod", name)).spec.nodeName !== undefined;
    await world.until("the good pod has a node", () => isBound("good"));
    // What is only preferred is given up.
    if (kind === "preferred") await world.until("the other has one, too", () => isBound("bad"));
  });
});

/**
 * A pod asks for something that the API server accepts in a pod but refuses in a NodeClaim. Other pods of the
 * batch still get a node, and no claim repeats the request.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { NodeSelectorRequirement, Pod } from "../src/apis/core/pod.ts";
import { kwokPoolManifest, ON_DEMAND } from "../src/testing/manifests.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const POOL = kwokPoolManifest({
  requirements: [ON_DEMAND, "{key: example.com/rank, operator: Exists}"],
});

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
    // The pod must use a node of Karpenter, because the sandbox's own nodes have room too.
    nodeSelector: { "karpenter.sh/nodepool": "default" },
    containers: [{ name: "c", image: "pause", resources: { requests: { cpu: "100m" } } }],
  },
});

const RANK = "example.com/rank";

let world: TestWorld;
afterEach(() => world.close());

describe("if one of two pods cannot be placed, the other gets the node they would share", () => {
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
  ])("for a first pod with %s %s on %s of %s", async (kind, operator, key, value) => {
    world = await openWorld({ provider: "kwok" });
    await world.apply(POOL);
    const bad = podNamed("bad", asking(kind, { key, operator, values: [value] }));
    await world.apply([bad, podNamed("good")].map((one) => JSON.stringify(one)).join("\n---\n"));
    const isBound = async (name: string) =>
      (await world.get<Pod>("Pod", name)).spec.nodeName !== undefined;
    await world.until("the good pod has a node", () => isBound("good"));
    // Karpenter relaxes a preference that it cannot satisfy.
    if (kind === "preferred") await world.until("the other has one, too", () => isBound("bad"));
  });
});

const CLASS = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-karpenter-demo
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: karpenter-demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: karpenter-demo}}]
`;
const CURRENT = POOL.split("---")[1]?.replace(
  "{group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}",
  "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}",
);
const FORMER = `
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec:
  subnetSelector: {karpenter.sh/discovery: karpenter-demo}
  securityGroupSelector: {karpenter.sh/discovery: karpenter-demo}
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: former}
spec: {providerRef: {name: default}}
`;

/** A label that v1alpha5 pools support, and that NodeClaims of later generations do not have. */
const PODS = "karpenter.k8s.aws/instance-pods";

describe("a pod's requirement on a label that only v1alpha5 nodes have", () => {
  it.each<[Kind, NodeSelectorRequirement["operator"], boolean]>([
    ["required", "NotIn", true],
    ["required", "Gt", false],
    ["preferred", "NotIn", true],
    ["preferred", "Gt", true],
  ])("%s with %s, lets another pod have a v1 node", async (kind, operator, hasNode) => {
    world = await openWorld({ sells: isUsual });
    await world.apply(`${CLASS}---${CURRENT}`);
    const bad = podNamed("bad", asking(kind, { key: PODS, operator, values: ["8"] }));
    await world.apply([bad, podNamed("good")].map((one) => JSON.stringify(one)).join("\n---\n"));
    const isBound = async (name: string) =>
      (await world.get<Pod>("Pod", name)).spec.nodeName !== undefined;
    await world.until("the good pod has a node", () => isBound("good"));
    if (hasNode) await world.until("the other has one, too", () => isBound("bad"));
    await world.advance(120_000);
    expect([await isBound("bad"), await isBound("good")]).toEqual([hasNode, true]);
    expect(await world.list("NodeClaim", "karpenter.sh/v1")).toHaveLength(1);
  });

  it("leads to a v1alpha5 node, although a v1 pool is tried first", async () => {
    world = await openWorld({ sells: isUsual });
    await world.apply(`${CLASS}---${CURRENT}---${FORMER}`);
    const { nodeSelector: _, ...spec } = podNamed("web").spec;
    const term = { matchExpressions: [{ key: PODS, operator: "Gt" as const, values: ["8"] }] };
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
    };
    const pod: Pod = { ...podNamed("web"), spec: { ...spec, affinity: { nodeAffinity } } };
    await world.apply(JSON.stringify(pod));
    const home = async () => (await world.get<Pod>("Pod", "web")).spec.nodeName;
    await world.until("it has a node", async () => (await home()) !== undefined);
    const [node] = (await world.list("Node", "v1")).filter(
      ({ metadata }) => metadata.labels?.["karpenter.sh/provisioner-name"] === "former",
    );
    expect(await home()).toBe(node?.metadata.name);
  });
});

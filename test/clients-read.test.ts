/**
 * Fields and conditions that other programs read from Karpenter's objects, checked on a live cluster. Argo CD's
 * health scripts (argoproj/argo-cd, resource_customizations/karpenter.sh and karpenter.k8s.aws) and Headlamp's
 * Karpenter plug-in (headlamp-k8s/plugins, karpenter/src).
 */
import { readFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { isUsual, openWorld, type TestWorld, valueAt } from "./world.ts";

const EXAMPLES = new URL("../examples/", import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, EXAMPLES), "utf8");

let world: TestWorld;
afterEach(() => world.close());

/** By kind: the conditions that Argo CD's health scripts read. Their `Disrupting` exists on no v1 claim. */
const CONDITIONS = {
  NodePool: ["Ready", "NodeClassReady"],
  NodeClaim: ["Ready", "Launched", "Registered", "Initialized"],
  EC2NodeClass: ["Ready", "SubnetsReady", "SecurityGroupsReady", "ValidationSucceeded"],
} as const;

/** The paths that Headlamp's lists and details show, by kind. */
const FIELDS = {
  NodePool: [
    "spec.template.spec.nodeClassRef.name",
    "spec.template.spec.expireAfter",
    "spec.limits.cpu",
    "spec.disruption.consolidationPolicy",
    "status.resources.cpu",
    "status.resources.memory",
    "status.resources.nodes",
  ],
  NodeClaim: ["spec.resources.requests.cpu", "status.allocatable.cpu", "status.nodeName"],
  EC2NodeClass: ["spec.role", "status.instanceProfile"],
} as const;

/** Labels of NodeClaims by which Headlamp shows type, zone and capacity type. */
const LABELS = [
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/zone",
  "karpenter.sh/capacity-type",
  "karpenter.sh/nodepool",
] as const;

it("objects have the fields that Argo CD's health scripts and Headlamp's plug-in read", async () => {
  world = await openWorld({ sells: isUsual });
  await world.apply(read("v1/nodepool.yaml"));
  await world.apply(
    read("inflate.yaml").replace(
      "    spec:\n",
      "    spec:\n      nodeSelector: { karpenter.sh/capacity-type: spot }\n",
    ),
  );
  await world.scale("inflate", 1);
  await world.advance(180_000);
  for (const kind of ["NodePool", "NodeClaim", "EC2NodeClass"] as const) {
    const group = kind === "EC2NodeClass" ? "karpenter.k8s.aws/v1" : "karpenter.sh/v1";
    const [object] = await world.list(kind, group);
    const { conditions = [] } = (object as { status?: { conditions?: object[] } }).status ?? {};
    for (const type of CONDITIONS[kind])
      expect(conditions, `${kind} ${type}`).toContainEqual(
        expect.objectContaining({ type, status: "True", message: expect.any(String) }),
      );
    for (const path of FIELDS[kind])
      expect(valueAt(object as never, path), `${kind} ${path}`).toMatch(/./);
    if (kind === "NodeClaim")
      for (const label of LABELS)
        expect(object?.metadata.labels?.[label], `${kind} ${label}`).toMatch(/./);
  }
  const [claim] = await world.list("NodeClaim", "karpenter.sh/v1");
  expect(claim?.metadata.ownerReferences?.[0]).toMatchObject({ kind: "NodePool", name: "default" });
});

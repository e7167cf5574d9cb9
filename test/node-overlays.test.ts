import { describe, expect, it } from "vitest";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import type { Condition, KubeObject } from "../src/apis/meta.ts";
import { kwokPoolManifest, ON_DEMAND } from "../src/testing/manifests.ts";
import { openWorld, type TestWorld } from "./world.ts";

const TYPE = "node.kubernetes.io/instance-type";

const [SMALL, MEDIUM, LARGE] = ["c", "s", "m"].map((family) => `${family}-4x-amd64-linux`) as [
  string,
  string,
  string,
];

const CLUSTER = kwokPoolManifest({
  requirements: [
    `{key: ${TYPE}, operator: In, values: [${SMALL}, ${MEDIUM}, ${LARGE}]}`,
    ON_DEMAND,
  ],
  disruption: "{consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s}",
});

const overlay = (name: string, type: string, spec: string) => `
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: ${name}}
spec:
  requirements: [{key: ${TYPE}, operator: In, values: [${type}]}]
  ${spec}
`;

const pods = (name: string, requests: string) => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: app, image: pause, resources: {requests: ${requests}, limits: ${requests}}}]
`;

async function types(world: TestWorld): Promise<readonly (string | undefined)[]> {
  const nodes = await world.list("Node", "v1", "karpenter.sh/nodepool=default");
  return nodes.map(({ metadata }) => metadata.labels?.[TYPE]);
}

async function condition(world: TestWorld, name: string): Promise<Condition | undefined> {
  const found = await world.get<KubeObject & { status?: { conditions?: Condition[] } }>(
    "NodeOverlay",
    name,
    "karpenter.sh/v1alpha1",
  );
  return found.status?.conditions?.find(({ type }) => type === "Ready");
}

describe("NodeOverlays", () => {
  it("change which instances are launched, how nodes are replaced, and which resources exist", async () => {
    const world = await openWorld({
      provider: "kwok",
      logLevel: "info",
      flags: { "feature-gates": "NodeOverlay=true" },
    });
    try {
      await world.apply(CLUSTER + overlay("committed", LARGE, 'price: "0.01"'));
      await world.apply(pods("web", "{cpu: '2'}"));
      await world.until("the committed type runs", async () =>
        (await types(world)).includes(LARGE),
      );
      expect(await condition(world, "committed")).toMatchObject({ status: "True" });
      const [claim] = await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
      expect(claim?.metadata.annotations).toMatchObject({
        "karpenter.sh/price-overlay-applied": "true",
      });

      // Two overlays set different prices: one is rejected, and the other makes the node too expensive.
      await world.remove("NodeOverlay", "committed", "karpenter.sh/v1alpha1");
      await world.apply(overlay("dear", LARGE, 'priceAdjustment: "+300%"'));
      await world.apply(overlay("also", LARGE, 'price: "0.01"'));
      await world.until("a cheaper type has taken over", async () => {
        const all = await types(world);
        return all.length === 1 && all[0] === SMALL;
      });
      expect(await condition(world, "dear")).toMatchObject({ status: "True" });
      expect(await condition(world, "also")).toMatchObject({ status: "False" });

      // A device that the cloud does not report.
      await world.apply(overlay("fuse", MEDIUM, 'capacity: {example.com/fuse: "2"}'));
      await world.apply(pods("mount", "{example.com/fuse: '1'}"));
      await world.until("a node that shall have it is there", async () =>
        (await types(world)).includes(MEDIUM),
      );
      await world.until("its claim is ready", async () => {
        const claims = await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
        return claims.every(({ status: now }) =>
          now?.conditions?.some((one) => one.type === "Initialized" && one.status === "True"),
        );
      });
    } finally {
      await world.close();
    }
  });
});

import { describe, expect, it } from "vitest";
import { openWorld } from "./world.ts";

const CONFIG =
  "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}";

const MANIFESTS = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: app, image: pause, resources: {requests: {cpu: 100m}}}]
`;

async function zones(flags: Record<string, string>): Promise<number> {
  const world = await openWorld({ provider: "kwok", flags });
  try {
    await world.apply(MANIFESTS);
    const nodes = () => world.list("Node", "v1", "karpenter.sh/nodepool=default");
    await world.until("nodes are there", async () => (await nodes()).length > 0);
    const found = (await nodes()).map(
      ({ metadata }) => metadata.labels?.["topology.kubernetes.io/zone"],
    );
    return new Set(found).size;
  } finally {
    await world.close();
  }
}

describe("SCHEDULER_CONFIG", () => {
  it("spreads the pods of a ReplicaSet that asks for nothing", async () => {
    expect(await zones({})).toBe(1);
    expect(await zones({ "scheduler-config": CONFIG })).toBe(2);
  });

  it("that makes no sense keeps the controller from starting, by field", async () => {
    await expect(zones({ "scheduler-config": "podTopologySpread: {x: 1}" })).rejects.toThrow(
      "invalid scheduler-config: podTopologySpread.x: unknown field",
    );
  });
});

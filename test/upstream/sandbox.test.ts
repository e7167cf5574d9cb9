/** The nodes that upstream's suites find in our sandbox (virtual time; the suites themselves need Go). */
import { afterEach, describe, expect, it } from "vitest";
import type { Pod } from "../../src/apis/core/pod.ts";
import { openWorld, type TestWorld } from "../world.ts";
import { makeControlPlaneNodes } from "./sandbox.ts";

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
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: Never}
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: [{key: karpenter.kwok.sh/instance-size, operator: Lt, values: ["4"]}]
`;

/** A Deployment whose pods are counted in each zone by the pods of `beside`. */
const counted = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: counted}
spec:
  replicas: 8
  selector: {matchLabels: {app: counted}}
  template:
    metadata: {labels: {app: counted}}
    spec:
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: counted}}}
      containers: [{name: c, image: pause, resources: {requests: {cpu: "1"}}}]
`;
const beside = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: beside}
spec:
  replicas: 2
  selector: {matchLabels: {app: beside}}
  template:
    metadata: {labels: {app: beside}}
    spec:
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: counted}}}
      containers: [{name: c, image: pause, resources: {requests: {cpu: 500m}}}]
`;

let world: TestWorld;
afterEach(() => world.close());

describe("the nodes of the sandbox for upstream's suites", () => {
  it("are in no zone, so a spread that counts other pods still has a zone to go to", async () => {
    world = await openWorld({ provider: "kwok" });
    await makeControlPlaneNodes(world.client);
    await world.apply(POOL);
    const running = async (app: string) =>
      (await world.list<Pod>("Pod", "v1", `app=${app}`)).filter(
        ({ status }) => status?.phase === "Running",
      ).length;
    await world.apply(counted);
    await world.until(
      "two counted pods run in each zone",
      async () => (await running("counted")) === 8,
    );
    await world.apply(beside);
    await world.until("the others run beside them", async () => (await running("beside")) === 2);
    expect(await running("counted")).toBe(8);
  });
});

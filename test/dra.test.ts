/** Pods that claim devices, from the plan to kube-scheduler's allocation, on the sandbox's simulated AWS. */
import { expect, it } from "vitest";
import type { Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { awsPoolManifest } from "../src/testing/manifests.ts";
import { openWorld } from "./world.ts";

const CLASS = awsPoolManifest({
  disruption: "{consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 30s}",
});

const yaml = (one: object) => JSON.stringify(one);
const claim = (name: string, devices: object) =>
  yaml({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: { name, namespace: "default" },
    spec: { spec: { devices } },
  });
const gpu = (more: object) => ({ deviceClassName: "gpu.nvidia.com", ...more });
const ROOT = "resource.kubernetes.io/pcieRoot";
const model = (m: string) => ({
  selectors: [
    { cel: { expression: `device.attributes["gpu.nvidia.com"].productName.contains("${m}")` } },
  ],
});
const TEMPLATES: Record<string, object> = {
  one: { requests: [{ name: "gpu", exactly: gpu({}) }] },
  two: { requests: [{ name: "gpu", exactly: gpu({ count: 2 }) }] },
  four: { requests: [{ name: "gpu", exactly: gpu({ count: 4 }) }] },
  all: { requests: [{ name: "gpu", exactly: gpu({ allocationMode: "All" }) }] },
  near: {
    requests: [{ name: "gpu", exactly: gpu({ count: 2 }) }],
    constraints: [{ matchAttribute: ROOT }],
  },
  bound: {
    requests: [{ name: "gpu", exactly: gpu({ count: 2 }) }],
    constraints: [{ matchAttribute: "gpu.nvidia.com/driverVersion" }],
  },
  first: {
    requests: [
      {
        name: "gpu",
        firstAvailable: [
          { name: "a", ...gpu({ count: 3 }) },
          { name: "b", ...gpu({ count: 1 }) },
        ],
      },
    ],
  },
  a100: { requests: [{ name: "gpu", exactly: gpu(model("A100")) }] },
  nic: {
    requests: [
      { name: "gpu", exactly: gpu({}) },
      { name: "nic", exactly: { deviceClassName: "dra.net" } },
    ],
    constraints: [{ matchAttribute: ROOT }],
  },
};

const pod = (name: string, from: object) =>
  yaml({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      containers: [
        {
          name: "main",
          image: "pause",
          resources: { requests: { cpu: "1" }, claims: [{ name: "gpu" }] },
        },
      ],
      resourceClaims: [{ name: "gpu", ...from }],
    },
  });

/** Pods of the test: three for each claim template, and three that share one claim. */
const PODS = [0, 1, 2].flatMap((number) => [
  ...Object.keys(TEMPLATES).map((name) =>
    pod(`${name}-${number}`, { resourceClaimTemplateName: name }),
  ),
  pod(`shared-${number}`, { resourceClaimName: "shared" }),
]);

it("the sandbox runs pods with all kinds of device claims, on nodes that have published their devices", async () => {
  const world = await openWorld({
    sells: (type: string) => /^(m5|g5|g4dn|g6|p4d|p5)\./.test(type),
    dra: true,
    flags: { "ignore-dra-requests": "false", "aws-feature-gates": "DRANVIDIAGPU=true,DRAEFA=true" },
  });
  try {
    await world.apply(CLASS);
    for (const [name, devices] of Object.entries(TEMPLATES))
      await world.apply(claim(name, devices));
    await world.apply(
      yaml({
        apiVersion: "resource.k8s.io/v1",
        kind: "ResourceClaim",
        metadata: { name: "shared", namespace: "default" },
        spec: { devices: TEMPLATES["two"] },
      }),
    );
    for (const one of PODS) await world.apply(one);
    const waiting = async () => {
      const pods = await world.list<Pod>("Pod", "v1");
      return pods
        .filter(({ spec }) => spec["resourceClaims"] !== undefined)
        .filter(({ status }) => status?.phase !== "Running")
        .map(({ metadata }) => metadata.name);
    };
    await world.until("the pods run", async () => (await waiting()).length === 0, 600_000);
    expect(await waiting()).toEqual([]);
    const nodes = await world.list<Node>("Node", "v1", "karpenter.sh/nodepool=default");
    expect(nodes.length).toBeGreaterThan(3);
    for (const { metadata } of nodes)
      expect([metadata.name, metadata.labels?.["karpenter.sh/initialized"]]).toEqual([
        metadata.name,
        "true",
      ]);
  } finally {
    await world.close();
  }
}, 60_000);

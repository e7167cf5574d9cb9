/**
 * No secret reaches logs, events, traces or statuses. One story puts secrets wherever a user may put them, and
 * provokes every failure whose message quotes its input. Then each output is searched for each secret, plain and
 * in base64.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { KubeObject } from "../src/apis/meta.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const SECRETS = {
  "user data of a class that launches": "canary-launched-5b1f",
  "user data that cannot be merged": "canary-broken-toml-77c2",
  "user data that is too long": "canary-too-long-0d43",
  "user data of an alpha template": "canary-alpha-91ee",
  "a Secret": "canary-secret-3aa8",
  "an environment variable": "canary-env-c0de",
} as const;

const POOL = (name: string, nodeClass: string): string => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: ${name} }
spec:
  template:
    spec:
      requirements: [{ key: karpenter.sh/capacity-type, operator: In, values: [spot] }]
      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: ${nodeClass} }
`;

const CLASS = (name: string, alias: string, userData: string): string => `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: { name: ${name} }
spec:
  role: KarpenterNodeRole-\${CLUSTER_NAME}
  amiSelectorTerms: [{ alias: ${alias} }]
  subnetSelectorTerms: [{ tags: { karpenter.sh/discovery: "\${CLUSTER_NAME}" } }]
  securityGroupSelectorTerms: [{ tags: { karpenter.sh/discovery: "\${CLUSTER_NAME}" } }]
  userData: ${JSON.stringify(userData)}
`;

const TEMPLATE = `
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: { name: former }
spec:
  subnetSelector: { karpenter.sh/discovery: "\${CLUSTER_NAME}" }
  securityGroupSelector: { karpenter.sh/discovery: "\${CLUSTER_NAME}" }
  amiFamily: Bottlerocket
  userData: ${JSON.stringify(`[settings.host\nkey = "${SECRETS["user data of an alpha template"]}"`)}
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: { name: former }
spec: { providerRef: { name: former }, requirements: [{ key: team, operator: In, values: [former] }] }
`;

const WORKLOAD = `
apiVersion: v1
kind: Secret
metadata: { name: db, namespace: default }
stringData: { password: ${SECRETS["a Secret"]} }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: default }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      nodeSelector: { karpenter.sh/capacity-type: spot }
      containers:
        - name: web
          image: web
          env: [{ name: TOKEN, value: ${SECRETS["an environment variable"]} }]
          resources: { requests: { cpu: "1" } }
---
apiVersion: v1
kind: Pod
metadata: { name: former, namespace: default }
spec:
  nodeSelector: { team: former }
  containers: [{ name: a, image: a, resources: { requests: { cpu: "1" } } }]
`;

let world: TestWorld;
afterEach(() => world.close());

/** The forms of a secret in a text: plain, or one of the three base64 forms, by its offset in the encoded text. */
function shapes(secret: string): readonly string[] {
  const cut = [0, 1, 2].map((lead) =>
    Buffer.from(" ".repeat(lead) + secret)
      .toString("base64")
      .slice(4, 4 + 12),
  );
  return [secret, ...cut];
}

describe("secrets that the controller can read", () => {
  it("appear in no log, trace, event or status, whatever fails", async () => {
    world = await openWorld({
      sells: isUsual,
      flags: { "interruption-queue": "karpenter-demo" },
    });
    const script = `#!/bin/bash\nexport TOKEN=${SECRETS["user data of a class that launches"]}\n`;
    const toml = `[settings.host\nkey = "${SECRETS["user data that cannot be merged"]}"`;
    const long = `#!/bin/bash\n# ${SECRETS["user data that is too long"]} ${"x".repeat(17_000)}`;
    for (const manifest of [
      CLASS("good", "al2023@latest", script),
      CLASS("broken", "bottlerocket@latest", toml),
      CLASS("long", "al2023@latest", long),
      POOL("good", "good"),
      TEMPLATE,
    ])
      await world.apply(manifest);
    const { faults, controls } = world.box.sandbox.aws;
    const denied = ["CreateLaunchTemplate", "CreateFleet"].map((action) => faults.deny(action, 3));
    await world.apply(WORKLOAD);
    await world.advance(6_000);
    for (const undo of denied) undo();
    const pods = async () => world.list<KubeObject & { spec: { nodeName?: string } }>("Pod");
    await world.until("web runs", async () =>
      (await pods())
        .filter((one) => one.metadata.labels?.["app"])
        .every((one) => one.spec.nodeName),
    );
    const spot = [...world.box.sandbox.aws.state.instances.values()].find(
      (one) => one.capacityType === "spot",
    );
    controls.reclaimSpot(spot?.id ?? "");
    await world.advance(5_000);

    const told: Readonly<Record<string, string>> = {
      log: world.log().join("\n"),
      trace: world.trace.join("\n"),
      events: JSON.stringify(await world.list("Event")),
      statuses: JSON.stringify(
        (
          await Promise.all([
            world.list("EC2NodeClass", "karpenter.k8s.aws/v1"),
            world.list("NodePool", "karpenter.sh/v1"),
            world.list("NodeClaim", "karpenter.sh/v1"),
            world.list("Machine", "karpenter.sh/v1alpha5"),
            world.list("Provisioner", "karpenter.sh/v1alpha5"),
            world.list("AWSNodeTemplate", "karpenter.k8s.aws/v1alpha1"),
          ])
        )
          .flat()
          .map((one) => (one as { status?: unknown }).status),
      ),
    };
    // The failures did happen: all three wrong classes, the denials and the interruption.
    expect(told["log"]).toContain("UnauthorizedOperation");
    expect(told["events"]).toContain("SpotInterrupted");
    expect(told["statuses"]).toContain("UserDataInvalid");
    expect(told["statuses"]).toContain("UserDataSizeLimitExceeded");
    expect(told["log"]).toContain("parsing custom user data");
    const leaks = Object.entries(SECRETS).flatMap(([what, secret]) =>
      Object.entries(told).flatMap(([where, text]) =>
        shapes(secret).some((shape) => text.includes(shape)) ? [`${what} in the ${where}`] : [],
      ),
    );
    expect(leaks).toEqual([]);
  });
});

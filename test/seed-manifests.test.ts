/**
 * Every manifest of the seeds is sent to the API server with our CRDs and webhooks, and is accepted or refused as
 * expected.
 */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { customResourceDefinitions } from "../src/apis/crds/all.ts";
import { answerWebhook, webhookConfigurations } from "../src/apis/hub/admission.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { Random } from "../src/base/random.ts";
import type { KubeResponse } from "../src/kube/transport/transport.ts";
import { bareApiServer } from "../src/sandbox/testing/bare-api-server.ts";
import { seedObjects } from "../src/testing/seed-manifests.ts";

const KARPENTER: Readonly<Record<string, string>> = {
  Provisioner: "/apis/karpenter.sh/v1alpha5/provisioners",
  AWSNodeTemplate: "/apis/karpenter.k8s.aws/v1alpha1/awsnodetemplates",
  NodePool: "/apis/karpenter.sh/v1beta1/nodepools",
  EC2NodeClass: "/apis/karpenter.k8s.aws/v1beta1/ec2nodeclasses",
  Deployment: "/apis/apps/v1/namespaces/default/deployments",
};

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
type Answer = KubeResponse & { readonly body?: any };

async function cluster() {
  const server = bareApiServer({
    random: new Random("seeds"),
    webhooks: (config, review) =>
      Promise.resolve(
        answerWebhook(config.service?.path ?? "", review, {
          clusterName: "karpenter-demo",
          acceptMinusOne: true,
          defaultInstanceProfile: undefined,
        }),
      ),
    kubernetesVersion: "v1.34.4",
  });
  const transport = server.transport({ name: "tester", groups: ["system:masters"] });
  const send = (method: "GET" | "POST", path: string, body?: unknown) =>
    transport.send({ method, path, body }) as Promise<Answer>;
  const install = async (path: string, objects: readonly KubeObject[]) => {
    for (const object of objects) {
      const answer = await send("POST", path, object);
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    }
  };
  await install(
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    customResourceDefinitions(),
  );
  const admission = "/apis/admissionregistration.k8s.io/v1";
  const [mutating, ...validating] = webhookConfigurations();
  await install(`${admission}/mutatingwebhookconfigurations`, [mutating as KubeObject]);
  await install(`${admission}/validatingwebhookconfigurations`, validating);
  const apply = (object: KubeObject) =>
    send("POST", KARPENTER[object.kind ?? ""] as string, object);
  return { send, apply };
}

const root = fileURLToPath(new URL("fixtures/seeds/", import.meta.url));
const files = readdirSync(root).filter((name) => name.endsWith(".yaml"));

describe("manifests of the seeds, applied to the simulated API server", () => {
  for (const file of files) {
    const objects = seedObjects(file).filter((one) => KARPENTER[one.kind] !== undefined);
    if (objects.length === 0 || objects.some((one) => one.metadata?.name === undefined)) continue;
    it(`${file} is accepted`, async () => {
      const { apply } = await cluster();
      for (const object of objects) {
        const answer = await apply(object);
        expect(answer.status, JSON.stringify(answer.body?.message)).toBe(201);
      }
    });
  }
});

describe("manifests that must be refused by the simulated API server", () => {
  const denied = (path: string, ...texts: readonly string[]) =>
    it(path, async () => {
      const { apply } = await cluster();
      const messages: string[] = [];
      for (const object of seedObjects(`negative/${path}`)) {
        const answer = await apply(object);
        expect(answer.status).toBeGreaterThanOrEqual(400);
        messages.push(answer.body.message);
      }
      for (const text of texts) expect(messages.join("\n")).toContain(text);
    });
  denied("s0-09-tags-integer-asis.yaml", "spec.tags.InternalAccountingTag");
  denied("s0-10-tags-restricted.yaml", "karpenter.sh/provisioner-name");
  denied(
    "s0-11-provisioner-without-providerref.yaml",
    'admission webhook "validation.webhook.karpenter.sh" denied the request: validation failed: expected exactly one, got neither: spec.provider, spec.providerRef',
  );
  denied(
    "s0-12-nodetemplate-missing-selectors.yaml",
    'admission webhook "validation.webhook.karpenter.k8s.aws" denied the request: validation failed: missing field(s): spec.provider.subnetSelector',
  );
  denied("s2-04-selector-terms-combined.yaml", "'id' is mutually exclusive");
  denied("s2-05-owner-integer.yaml", "spec.amiSelectorTerms[0].owner");
  denied("s3-10-default-tags-rejected.yaml", "tag contains a restricted tag matching");
  denied(
    "s3-13-consolidateafter-with-underutilized.yaml",
    "consolidateAfter cannot be combined with consolidationPolicy=WhenUnderutilized",
  );
});

describe("manifests of the seeds with legal typos", () => {
  for (const file of [
    "s0-07-basic-deploy-blockdevice-curly-quote-asis.yaml",
    "s4-02-spot-deploy-duplicate-key-asis.yaml",
  ]) {
    it(`${file} is accepted`, async () => {
      const { apply } = await cluster();
      for (const object of seedObjects(`negative/${file}`)) {
        expect((await apply(object)).status).toBe(201);
      }
    });
  }
});

describe("objects read back from the API server", () => {
  it("S1-31: show what the defaulting webhook set", async () => {
    const { send, apply } = await cluster();
    await apply(seedObjects("s1-02-provisioner-RECONSTRUCTED.yaml")[0]);
    const { body } = await send("GET", `${KARPENTER["Provisioner"]}/default`);
    expect(body.spec.requirements).toHaveLength(2);
    expect(body.spec.provider.subnetSelector).toEqual({
      "kubernetes.io/cluster/karpenter-demo": "*",
    });
  });

  it("show a NodePool as it was written in v1beta1, and converted in v1", async () => {
    const { send, apply } = await cluster();
    await apply(seedObjects("s2-01-nodepool.yaml")[0]);
    const beta = await send("GET", `${KARPENTER["NodePool"]}/default`);
    expect(beta.body.spec).toMatchObject({
      disruption: { expireAfter: "360h", consolidationPolicy: "WhenUnderutilized" },
      template: { spec: { kubelet: { maxPods: 20 }, nodeClassRef: { name: "default" } } },
    });
    const v1 = await send("GET", "/apis/karpenter.sh/v1/nodepools/default");
    expect(v1.body.spec.template.spec).toMatchObject({
      expireAfter: "360h",
      nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
    });
  });
});

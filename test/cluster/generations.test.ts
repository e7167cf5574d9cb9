/**
 * All three generations of the API on a real control plane, through real kubectl. The controller converts between
 * v1beta1 and v1 and admits v1alpha5 over HTTPS, with a certificate of its own. Each kind of pool launches and
 * removes nodes.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Node } from "../../src/apis/core/node.ts";
import { findKubectls, type Kubectl, kubectlOf } from "../e2e/kubectl-client.ts";
import { CLASS_REF, NODE_CLASS, ON_DEMAND, pauseDeployment } from "./kwok-objects.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const REQUIREMENTS = [ON_DEMAND];
const SMALL = { cpu: "1", memory: "512Mi" };
const EMPTY_SOON = { consolidationPolicy: "WhenEmpty", consolidateAfter: "1s" };

const ALPHA = {
  apiVersion: "karpenter.sh/v1alpha5",
  kind: "Provisioner",
  metadata: { name: "alpha" },
  spec: {
    providerRef: beta("default"),
    // Without requirements the default ones ask for AWS instance categories, which simulated instances lack.
    requirements: [{ key: "node.kubernetes.io/instance-type", operator: "Exists" }],
    ttlSecondsAfterEmpty: 1,
  },
};
const BETA = {
  apiVersion: "karpenter.sh/v1beta1",
  kind: "NodePool",
  metadata: { name: "beta" },
  spec: {
    template: { spec: { nodeClassRef: beta("default"), requirements: REQUIREMENTS } },
    disruption: { ...EMPTY_SOON, expireAfter: "720h", budgets: [{ nodes: "100%" }] },
  },
};
const V1 = {
  apiVersion: "karpenter.sh/v1",
  kind: "NodePool",
  metadata: { name: "stable" },
  spec: {
    template: {
      spec: {
        nodeClassRef: CLASS_REF,
        requirements: REQUIREMENTS,
        terminationGracePeriod: "10m",
      },
    },
    disruption: { ...EMPTY_SOON, budgets: [{ nodes: "100%", reasons: ["Empty"] }] },
  },
};

function beta(name: string) {
  return { apiVersion: "karpenter.kwok.sh/v1alpha1", kind: "KWOKNodeClass", name };
}

describe("three generations of the API on a real control plane", () => {
  let cluster: LiveCluster;
  let kubectl: Kubectl;
  const apply = (object: object) => kubectl.ok("apply -f -", { stdin: JSON.stringify(object) });
  const refusal = (object: object) =>
    kubectl.fails("create -f -", { stdin: JSON.stringify(object) });
  const get = async (what: string) => JSON.parse(await kubectl.ok(`get ${what} -o json`));

  beforeAll(async () => {
    cluster = await openLiveCluster(undefined, { webhooks: true });
    const [found] = await findKubectls();
    if (found === undefined) throw new Error("kubectl is needed on PATH");
    kubectl = kubectlOf(found, { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } });
    await cluster.apply(NODE_CLASS);
    const served = async () => cluster.log().some((line) => line.includes("webhooks are served"));
    await cluster.until("webhooks are served", served);
  });
  afterAll(() => cluster?.close());

  it("convert a v1beta1 pool to v1 and back", async () => {
    await apply(BETA);
    const stable = await get("nodepools.v1.karpenter.sh beta");
    expect(stable.spec.template.spec).toMatchObject({
      expireAfter: "720h",
      nodeClassRef: CLASS_REF,
    });
    const again = await get("nodepools.v1beta1.karpenter.sh beta");
    expect(again.spec).toEqual(BETA.spec);
  });

  it("show a v1 pool as v1beta1, and edits there keep the fields that only v1 has", async () => {
    await apply(V1);
    const old = await get("nodepools.v1beta1.karpenter.sh stable");
    expect(old.spec.disruption).toMatchObject({ ...EMPTY_SOON, expireAfter: "720h" });
    await kubectl.ok(
      'patch nodepools.v1beta1.karpenter.sh stable --type merge -p \'{"spec":{"weight":7}}\'',
    );
    const { spec } = await get("nodepools.v1.karpenter.sh stable");
    expect(spec.weight).toBe(7);
    expect(spec.template.spec.terminationGracePeriod).toBe("10m");
    expect(spec.disruption.budgets).toEqual([{ nodes: "100%", reasons: ["Empty"] }]);
  });

  it("fill in the defaults of a Provisioner", async () => {
    const plain = {
      ...ALPHA,
      metadata: { name: "plain" },
      spec: { providerRef: { name: "none" } },
    };
    await apply(plain);
    const { spec } = await get("provisioner plain");
    expect(spec.requirements.map((one: { key: string }) => one.key)).toEqual([
      "kubernetes.io/os",
      "kubernetes.io/arch",
      "karpenter.sh/capacity-type",
      "karpenter.k8s.aws/instance-category",
      "karpenter.k8s.aws/instance-generation",
    ]);
    // A second apply of the same manifest changes nothing.
    expect(await apply(plain)).toContain("provisioner.karpenter.sh/plain");
    expect((await get("provisioner plain")).metadata.generation).toBe(1);
    await apply(ALPHA);
  });

  it.each([
    [
      "both ways to empty (S1)",
      { ...ALPHA, spec: { ...ALPHA.spec, consolidation: { enabled: true } } },
      'admission webhook "validation.webhook.karpenter.sh" denied the request: validation failed: expected exactly one, got both: spec.consolidation.enabled, spec.ttlSecondsAfterEmpty',
    ],
    [
      "a Provisioner without a class",
      { ...ALPHA, spec: {} },
      "expected exactly one, got neither: spec.provider, spec.providerRef",
    ],
    [
      "a reserved label",
      { ...ALPHA, spec: { ...ALPHA.spec, labels: { "karpenter.sh/provisioner-name": "x" } } },
      'admission webhook "validation.webhook.karpenter.sh" denied the request',
    ],
    [
      "a v1beta1 policy with consolidateAfter",
      {
        ...BETA,
        spec: {
          ...BETA.spec,
          disruption: { consolidationPolicy: "WhenUnderutilized", consolidateAfter: "30s" },
        },
      },
      "consolidateAfter cannot be combined with consolidationPolicy=WhenUnderutilized",
    ],
    [
      "a v1 budget that says nothing",
      { ...V1, spec: { ...V1.spec, disruption: { ...EMPTY_SOON, budgets: [{ nodes: "many" }] } } },
      "spec.disruption.budgets[0].nodes: Invalid value",
    ],
  ])("refuse %s", async (_, object, words) => {
    const denied = await refusal({ ...object, metadata: { name: "refused" } });
    expect(denied).toContain(words);
  });

  it.each([
    ["alpha", "karpenter.sh/provisioner-name", "machines.karpenter.sh"],
    ["beta", "karpenter.sh/nodepool", "nodeclaims.v1beta1.karpenter.sh"],
    ["stable", "karpenter.sh/nodepool", "nodeclaims.v1.karpenter.sh"],
  ])("create and remove nodes for a pool of generation %s", async (name, label, claims) => {
    await cluster.apply(
      pauseDeployment(name, {
        replicas: 3,
        requests: SMALL,
        spec: { nodeSelector: { [label]: name } },
      }),
    );
    const available = async () => (await get(`deployment ${name}`)).status.availableReplicas === 3;
    await cluster.until(`${name} is available`, available, 90_000);
    const nodes = await cluster.list<Node>("Node", "v1", `${label}=${name}`);
    expect(nodes.length).toBeGreaterThan(0);
    const { items } = await get(`${claims} -l ${label}=${name}`);
    expect(items.length).toBe(nodes.length);
    await kubectl.ok(`scale deployment/${name} --replicas 0`);
    const empty = async () => (await cluster.list("Node", "v1", `${label}=${name}`)).length === 0;
    await cluster.until("no node is left", empty, 90_000);
    const gone = async () => (await get(`${claims} -l ${label}=${name}`)).items.length === 0;
    await cluster.until("no claim is left", gone, 60_000);
  });
});

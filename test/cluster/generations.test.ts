/**
 * All three generations of the API on a real control plane, through real kubectl: the controller converts
 * between v1beta1 and v1 and admits v1alpha5 over HTTPS, with a certificate of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/apis/meta.ts";
import { findKubectls, type Kubectl, kubectlOf } from "../e2e/kubectl-client.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const BETA_POOL = {
  apiVersion: "karpenter.sh/v1beta1",
  kind: "NodePool",
  metadata: { name: "beta" },
  spec: {
    template: {
      spec: {
        nodeClassRef: {
          apiVersion: "karpenter.kwok.sh/v1alpha1",
          kind: "KWOKNodeClass",
          name: "default",
        },
        requirements: [
          { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
        ],
      },
    },
    disruption: { consolidationPolicy: "WhenEmpty", consolidateAfter: "1s", expireAfter: "720h" },
  },
};

const PROVISIONER = {
  apiVersion: "karpenter.sh/v1alpha5",
  kind: "Provisioner",
  metadata: { name: "alpha" },
  spec: { providerRef: { name: "default" }, ttlSecondsAfterEmpty: 1, weight: 10 },
};

describe("three generations on a real control plane", () => {
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
    await cluster.apply({
      apiVersion: "karpenter.kwok.sh/v1alpha1",
      kind: "KWOKNodeClass",
      metadata: { name: "default" },
      spec: {},
    } as KubeObject);
    const served = async () => cluster.log().some((line) => line.includes("webhooks are served"));
    await cluster.until("webhooks are served", served);
  });
  afterAll(() => cluster?.close());

  it("reads a v1beta1 pool as v1, and back", async () => {
    await apply(BETA_POOL);
    const v1 = await get("nodepools.v1.karpenter.sh beta");
    expect(v1.spec.template.spec).toMatchObject({
      expireAfter: "720h",
      nodeClassRef: { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" },
    });
    const beta = await get("nodepools.v1beta1.karpenter.sh beta");
    expect(beta.spec.disruption.expireAfter).toBe("720h");
    expect(beta.spec.template.spec.nodeClassRef.apiVersion).toBe("karpenter.kwok.sh/v1alpha1");
  });

  it("defaults and refuses Provisioners in upstream's words", async () => {
    await apply(PROVISIONER);
    const { spec } = await get("provisioner alpha");
    expect(spec.requirements).toContainEqual({
      key: "karpenter.sh/capacity-type",
      operator: "In",
      values: ["on-demand"],
    });
    const both = { ...PROVISIONER, metadata: { name: "both" } };
    const denied = await refusal({
      ...both,
      spec: { ...PROVISIONER.spec, consolidation: { enabled: true } },
    });
    expect(denied).toContain(
      "denied the request: validation failed: expected exactly one, got both: spec.consolidation.enabled, spec.ttlSecondsAfterEmpty",
    );
  });
});

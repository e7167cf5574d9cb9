/**
 * What the chart's account may do to a Deployment, by the real helm and a real kube-apiserver. By default nothing;
 * in the namespaces that the values name, set the annotation of a rollout restart and nothing else. The chart's
 * NetworkPolicy is compared as a whole too.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEPLOYMENT } from "../../src/apis/apps/kinds.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { clusterAccess } from "../../src/kube/kubeconfig/kubeconfig.ts";
import { createHttpTransport } from "../../src/kube/transport/http-transport.ts";
import { discoverResources } from "../../src/sandbox/scenario/resources.ts";
import { tokenFile } from "./account.ts";
import { helmBinary } from "./binaries.ts";
import { type Helm, helmOf, IMAGE, objectsIn, ofKind, type Rendered } from "./helm-release.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const NAMESPACE = "karpenter";
const SURGED_AT = "karpenter.sh/surged-at";
const TEMPLATE = ["template", "karpenter", "{chart}", "--namespace", NAMESPACE, ...IMAGE];
const POLICY = "ValidatingAdmissionPolicy";
/** The kinds that grant or limit rights. The test applies only these and starts no controller. */
const RIGHTS = /^(ServiceAccount|(Cluster)?Role(Binding)?|ValidatingAdmissionPolicy(Binding)?)$/;

const patchOf = (spec: object): object => ({ spec });
const template = (inner: object): object => patchOf({ template: inner });
const annotated = (annotations: object): object => template({ metadata: { annotations } });

describe("the chart's account on a real control plane", () => {
  let cluster: LiveCluster;
  let helm: Helm;

  beforeAll(async () => {
    cluster = await openLiveCluster(undefined, { bare: true });
    helm = helmOf(await helmBinary((line) => process.stderr.write(`${line}\n`)), cluster);
    for (const name of [NAMESPACE, "shop", "other"]) {
      await put({ apiVersion: "v1", kind: "Namespace", metadata: { name } } as KubeObject);
      if (name !== NAMESPACE) await put(deployment(name));
    }
  });
  afterAll(() => cluster?.close());

  /** Creates or changes an object in its own namespace. */
  async function put(body: KubeObject): Promise<void> {
    const { name, namespace } = body.metadata;
    const kind = await discoverResources(cluster.client).kind(
      body.apiVersion ?? "",
      body.kind ?? "",
    );
    const type = { type: "apply", body, fieldManager: "test", force: true } as const;
    await cluster.client.patch(kind, { name, namespace }, type);
  }

  async function rendered(values: object): Promise<readonly Rendered[]> {
    const all = { provider: "kwok", ...values };
    return objectsIn(await helm.ok([...TEMPLATE, "--kube-version", "1.34.0"], all));
  }

  /**
   * A function that patches the Deployment with the rights of a release with these values. It resolves to the
   * refusal or to `done`.
   */
  async function patcher(values: object) {
    for (const object of await rendered(values))
      if (RIGHTS.test(object.kind ?? "")) await put(object);
    const file = await tokenFile(cluster.client, cluster.kubeconfig, NAMESPACE, "karpenter");
    const access = clusterAccess(file, {}, new SystemClock());
    const client = createKubeClient(createHttpTransport({ ...access, userAgent: "test" }));
    return (namespace: string, body: object, of = "web"): Promise<string> =>
      client
        .raw({
          method: "PATCH",
          path: `/apis/apps/v1/namespaces/${namespace}/deployments/${of}`,
          headers: { "content-type": "application/merge-patch+json" },
          body,
        })
        .then(
          () => "done",
          (error: unknown) => String(error),
        );
  }

  it("may patch no Deployment by default", async () => {
    const patch = await patcher({});
    expect(await patch("shop", annotated({ [SURGED_AT]: "now" }))).toContain("is forbidden: User");
    expect(ofKind(await rendered({}), POLICY)).toEqual([]);
  });

  it("may roll over Deployments of the namespaces that are named, and change nothing else", async () => {
    const patch = await patcher({ settings: { surgeNamespaces: ["shop"] } });
    const roll = annotated({ [SURGED_AT]: "2026-11-27T12:00:00Z" });
    // Each probe has another text. Before the policy is in force a probe succeeds, and a repeated text would change
    // nothing.
    let probes = 0;
    const probe = () => patch("shop", annotated({ probe: String(probes++) }));
    await cluster.until("the policy is in force", async () =>
      (await probe()).includes("this changes spec.template.metadata.annotations"),
    );
    expect(await patch("shop", roll)).toBe("done");
    // The annotation may also be changed, and removed.
    expect(await patch("shop", annotated({ [SURGED_AT]: "later" }))).toBe("done");
    expect(await patch("shop", annotated({ [SURGED_AT]: null }))).toBe("done");
    expect(await patch("other", roll)).toContain("is forbidden: User");
    const cases: readonly (readonly [object, string])[] = [
      [template({ spec: { serviceAccountName: "admin" } }), "spec.template"],
      [template({ spec: { hostNetwork: true } }), "spec.template"],
      [template({ metadata: { labels: { a: "b" } } }), "spec.template.metadata"],
      [annotated({ kept: "other" }), "spec.template.metadata.annotations"],
      [annotated({ kept: null, [SURGED_AT]: "now" }), "spec.template.metadata.annotations"],
      [annotated({ new: "one", [SURGED_AT]: "now" }), "spec.template.metadata.annotations"],
      [patchOf({ replicas: 0 }), "spec"],
      [patchOf({ paused: true }), "spec"],
      [patchOf({ strategy: { type: "Recreate", rollingUpdate: null } }), "spec"],
      [{ metadata: { labels: { a: "b" } } }, "metadata"],
      [{ metadata: { annotations: { [SURGED_AT]: "now" } } }, "metadata"],
      [{ metadata: { finalizers: ["a.b/c"] } }, "metadata"],
    ];
    for (const [body, field] of cases)
      expect([body, await patch("shop", body)]).toEqual([
        body,
        expect.stringMatching(
          new RegExp(`denied request: Karpenter may .* this changes ${field}$`),
        ),
      ]);
    // The policy does not limit other users.
    const two = { type: "merge", body: { spec: { replicas: 2 } } } as const;
    await cluster.client.patch(DEPLOYMENT, { name: "web", namespace: "shop" }, two);
    // Checked against the kind, the policy's expressions cause no warning.
    const [policy] = await cluster.list<
      KubeObject & { status?: { typeChecking?: { expressionWarnings?: readonly unknown[] } } }
    >(POLICY, "admissionregistration.k8s.io/v1");
    expect(policy?.status?.typeChecking?.expressionWarnings ?? []).toEqual([]);
  });

  it.each([
    [{}, false],
    [{ networkPolicy: { enabled: true } }, true],
    [
      {
        networkPolicy: {
          enabled: true,
          webhookFrom: [{ ipBlock: { cidr: "10.0.0.0/24" } }],
          metricsFrom: [],
          extraIngress: [{ ports: [{ port: 15020 }] }],
          egress: [{ ports: [{ port: 443 }] }],
        },
      },
      true,
    ],
  ])("has the NetworkPolicy of its values: %j", async (values, isThere) => {
    const policies = ofKind(await rendered(values), "NetworkPolicy");
    expect(policies).toHaveLength(isThere ? 1 : 0);
    for (const body of policies)
      await cluster.client.raw({
        method: "POST",
        path: `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies?dryRun=All&fieldValidation=Strict`,
        body,
      });
    expect(policies.map(({ spec }) => spec)).toMatchSnapshot();
  });

  it.each([
    [{ networkPolicy: { enabled: true }, hostNetwork: true }, "networkPolicy.enabled=false"],
    [
      { settings: { surgeNamespaces: ["*"] }, surgeAdmissionPolicy: false },
      "name the namespaces, or set surgeAdmissionPolicy=true",
    ],
  ])("is refused with a remedy: %j", async (values, words) => {
    const args = [...TEMPLATE, "--kube-version", "1.34.0"];
    expect(await helm.fails(args, { provider: "kwok", ...values })).toContain(words);
  });

  it("is refused a policy that the cluster is too old for", async () => {
    const args = [...TEMPLATE, "--kube-version", "1.29.0"];
    const values = { provider: "kwok", settings: { surgeNamespaces: ["shop"] } };
    expect(await helm.fails(args, values)).toContain("surgeAdmissionPolicy needs Kubernetes 1.30");
  });
});

function deployment(namespace: string): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" }, annotations: { kept: "as it is" } },
        spec: { containers: [{ name: "main", image: "app" }] },
      },
    },
  } as KubeObject;
}

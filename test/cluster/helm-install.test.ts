/**
 * The charts installed as a user installs them, by the real helm on a real control plane. The controller is the
 * image's program with exactly the ServiceAccount, arguments and environment of the release. kube-apiserver's
 * audit log says whether it had all the rights that it needed.
 */

import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEPLOYMENT } from "../../src/apis/apps/kinds.ts";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { startAwsEndpoint } from "../../src/sandbox/ec2/wire/server.ts";
import { freePort } from "../../src/testing/free-port.ts";
import { startLiveSandbox } from "../e2e/live-sandbox.ts";
import { tokenFile } from "./account.ts";
import { auditArguments, auditedRequests, refusedRequests } from "./audit.ts";
import { helmBinary } from "./binaries.ts";
import {
  buildImageProgram,
  type Container,
  containerIn,
  endContainer,
  environmentOf,
  type Helm,
  helmOf,
  IMAGE,
  objectsIn,
  runContainer,
} from "./helm-release.ts";
import { CLASS_REF, NODE_CLASS, nodePool, ON_DEMAND, pauseDeployment } from "./kwok-objects.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const NAMESPACE = "karpenter";
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:karpenter`;
const CREDENTIALS = { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any" };
const DISCOVERY = "{karpenter.sh/discovery: karpenter-demo}";
const AWS_CLASSES = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-karpenter-demo
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: ${DISCOVERY}}]
  securityGroupSelectorTerms: [{tags: ${DISCOVERY}}]
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: alpha}
spec:
  instanceProfile: KarpenterNodeInstanceProfile-karpenter-demo
  subnetSelector: ${DISCOVERY}
  securityGroupSelector: ${DISCOVERY}
`;
const ALPHA = `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: alpha}
spec:
  providerRef: {name: alpha}
  labels: {pool: alpha}
  ttlSecondsAfterEmpty: 1
`;
/** The install command of the install guide. */
const INSTALL = [
  "upgrade",
  "--install",
  "karpenter",
  "{chart}",
  "--namespace",
  NAMESPACE,
  ...IMAGE,
];

describe("a Helm release on a real control plane", () => {
  let cluster: LiveCluster;
  let helm: Helm;
  let program: string;
  const running: ChildProcess[] = [];
  let values: { readonly controller: object; readonly [value: string]: unknown };
  let container: Container;
  let kubeconfig: string;
  const log = (): string => cluster.log().join("\n");
  const seen = (what: string, text: string, limitMs?: number) =>
    cluster.until(what, async () => log().includes(text), limitMs);
  const nodes = () => cluster.list<Node>("Node", "v1", "karpenter.sh/registered=true");
  const podsOf = async (app: string) =>
    (await cluster.list<Pod>("Pod", "v1", `app=${app}`)).filter(
      ({ status, metadata }) =>
        status?.phase === "Running" && metadata.deletionTimestamp === undefined,
    );

  beforeAll(async () => {
    cluster = await openLiveCluster(undefined, {
      bare: true,
      // Without kube-proxy, kube-apiserver must call a Service's webhooks at the Service's endpoints.
      apiServerArguments: (directory) => [
        ...auditArguments(directory, NAMESPACE),
        "--enable-aggregator-routing=true",
      ],
    });
    helm = helmOf(await helmBinary((line) => process.stderr.write(`${line}\n`)), cluster);
    program = buildImageProgram(cluster);
    for (const zone of ["a", "b"]) await cluster.apply(systemNode(`system-${zone}`, zone));
    const [metrics, health, webhook] = [await freePort(), await freePort(), await freePort()];
    values = {
      provider: "kwok",
      controller: {
        metrics: { port: metrics },
        healthProbe: { port: health },
        resources: { limits: { memory: "320Mi" } },
      },
      webhook: { port: webhook },
      // On the host network a pod's address is that of its node, which is this machine. So the Service leads to a
      // process here.
      hostNetwork: true,
    };
  });
  afterAll(async () => {
    for (const child of running) await endContainer(child);
    await cluster?.close();
  });

  const logs = (name: string) => join(cluster.directory, "logs", name);
  /** A second replica on this machine must not take the first one's ports. */
  const APART = { METRICS_PORT: "0", HEALTH_PROBE_PORT: "0", DISABLE_WEBHOOK: "true" };
  const start = (
    more: Readonly<Record<string, string>> = {},
    access = kubeconfig,
    logFile = logs("karpenter.log"),
  ): ChildProcess => {
    const environment = { ...environmentOf(container, NAMESPACE), ...more };
    const child = runContainer(program, access, container, environment, logFile);
    running.push(child);
    return child;
  };

  const ready = () =>
    cluster.until("it is ready", async () => {
      const { HEALTH_PROBE_PORT } = environmentOf(container, NAMESPACE);
      const url = `http://127.0.0.1:${HEALTH_PROBE_PORT}/readyz`;
      return (await fetch(url).catch(() => undefined))?.status === 200;
    });

  it("installs the CRDs, and two replicas that the scheduler places on different nodes", async () => {
    const release = ["upgrade", "--install", "karpenter-crd", "{crds}", "--namespace", NAMESPACE];
    await helm.ok([...release, "--create-namespace"]);
    const notes = await helm.ok([...INSTALL, "--skip-crds", "--wait", "--timeout", "90s"], values);
    expect(notes).toContain("STATUS: deployed");
    const pods = await cluster.list<Pod>("Pod", "v1", "app.kubernetes.io/name=karpenter");
    expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(["system-a", "system-b"]);
    container = containerIn(
      objectsIn(await helm.ok(["get", "manifest", "karpenter", "--namespace", NAMESPACE])),
    );
    kubeconfig = await tokenFile(cluster.client, cluster.kubeconfig, NAMESPACE, "karpenter");
  });

  it("runs with its ServiceAccount: elects a leader, converts, admits, and answers its probes", async () => {
    start();
    await seen("it leads", "successfully acquired lease");
    await seen("webhooks are served", "webhooks are served");
    await ready();
    const env = environmentOf(container, NAMESPACE);
    const metrics = await fetch(`http://127.0.0.1:${env["METRICS_PORT"]}/metrics`);
    expect(await metrics.text()).toContain("karpenter_build_info");
  });

  it("admits Provisioners through its Service, with the certificate that it created", async () => {
    const provisioner = (spec: object) =>
      cluster.apply({
        apiVersion: "karpenter.sh/v1alpha5",
        kind: "Provisioner",
        metadata: { name: "alpha" },
        spec,
      } as KubeObject);
    await expect(provisioner({})).rejects.toThrow(
      "expected exactly one, got neither: spec.provider, spec.providerRef",
    );
    await provisioner({ providerRef: { name: "none" } });
    const [stored] = await cluster.list<KubeObject & { spec: { requirements: unknown[] } }>(
      "Provisioner",
      "karpenter.sh/v1alpha5",
    );
    expect(stored?.spec.requirements).toHaveLength(5);
  });

  it("creates nodes for pods of a v1 and of a v1beta1 pool, and drains them as a budget allows", async () => {
    await cluster.apply(NODE_CLASS);
    await cluster.apply(pool("default"));
    await cluster.apply(betaPool("beta"));
    await cluster.apply(deployment("web", { pool: "default" }));
    await cluster.apply(deployment("old", { pool: "beta" }));
    await cluster.until(
      "all pods run",
      async () => (await podsOf("web")).length + (await podsOf("old")).length === 4,
    );
    await cluster.apply({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "web", namespace: "default" },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: "web" } } },
    } as KubeObject);
    const before = (await nodes()).map(({ metadata }) => metadata.name);
    for (const name of before) await cluster.remove("Node", name);
    await cluster.until(
      "other nodes have taken over",
      async () => {
        const now = (await nodes()).map(({ metadata }) => metadata.name);
        return now.every((name) => !before.includes(name)) && (await podsOf("web")).length === 2;
      },
      120_000,
    );
  });

  it("changes its log level when the ConfigMap is patched (S1-27), and when the release is upgraded", async () => {
    const patch = (level: string | null) =>
      cluster.client.patch(
        { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true },
        { name: "config-logging", namespace: NAMESPACE },
        { type: "merge", body: { data: { "loglevel.controller": level } } },
      );
    await patch("debug");
    await seen("debug", "Updating logging level for controller from info to debug.");
    await patch(null);
    await seen("back to info", "Updating logging level for controller from debug to info.");
    await helm.ok([...INSTALL, "--skip-crds", "--reuse-values", "--set", "logLevel=error"]);
    await seen("error", "Updating logging level for controller from info to error.");
    await helm.ok([...INSTALL, "--skip-crds", "--reuse-values", "--set", "logLevel=debug"]);
    await seen("debug again", "Updating logging level for controller from error to debug.");
  });

  it("keeps the certificate authority of the conversion webhook when the kinds are upgraded", async () => {
    const read = async () => {
      const [crd] = (
        await cluster.list("CustomResourceDefinition", "apiextensions.k8s.io/v1")
      ).filter(({ metadata }) => metadata.name === "nodepools.karpenter.sh");
      return (
        crd as unknown as {
          spec: { conversion: { webhook: { clientConfig: { caBundle?: string } } } };
        }
      ).spec.conversion.webhook.clientConfig;
    };
    const { caBundle } = await read();
    expect(caBundle).toBeTruthy();
    await helm.ok([
      "upgrade",
      "karpenter-crd",
      "{crds}",
      "--namespace",
      NAMESPACE,
      "--set",
      "additionalAnnotations.upgraded=yes",
    ]);
    expect((await read()).caBundle).toBe(caBundle);
  });

  it("fails over to the second replica, which removes the remaining nodes", async () => {
    start(APART);
    expect(await endContainer(running[0] as ChildProcess)).toBe(0);
    const leads = () =>
      cluster.log().filter((line) => line.includes("successfully acquired lease")).length === 2;
    await cluster.until("the second leads", async () => leads());
    for (const name of ["web", "old"])
      await cluster.merge("Deployment", name, { spec: { replicas: 0 } }, "apps/v1");
    await cluster.until("no node is left", async () => (await nodes()).length === 0, 120_000);
  });

  it("works with the rights for provider aws, for both generations", async () => {
    for (const child of running) await endContainer(child);
    const sandbox = await startLiveSandbox();
    const aws = await startAwsEndpoint(sandbox.box.sandbox.aws, { port: 0 });
    try {
      const env = { AWS_ENDPOINT_URL: aws.url, AWS_REGION: "us-west-2", ...CREDENTIALS };
      const { controller, ...others } = values;
      // Without the chart's heap flag the program must keep within MEMORY_LIMIT by itself.
      const memory = [
        { name: "NODE_OPTIONS", value: "" },
        { name: "MEMORY_LIMIT", value: "320Mi" },
      ];
      await helm.ok([...INSTALL, "--skip-crds"], {
        ...others,
        provider: "aws",
        settings: { clusterName: "karpenter-demo" },
        controller: {
          ...controller,
          env: [...memory, ...Object.entries(env).map(([name, value]) => ({ name, value }))],
        },
      });
      container = containerIn(
        objectsIn(await helm.ok(["get", "manifest", "karpenter", "--namespace", NAMESPACE])),
      );
      const child = start();
      await ready();
      await cluster.apply(AWS_CLASSES);
      await cluster.apply(pool("ec2", { group: "karpenter.k8s.aws", kind: "EC2NodeClass" }));
      await cluster.apply(deployment("ec2", { pool: "ec2" }));
      const launched = async (kind: string, version: string, condition: string) => {
        const claims = await cluster.list<NodeClaim>(kind, version);
        return claims.some(({ status }) =>
          status?.conditions?.some(({ type, status }) => type === condition && status === "True"),
        );
      };
      await cluster.until("a NodeClaim is launched", () =>
        launched("NodeClaim", "karpenter.sh/v1", "Launched"),
      );
      await cluster.apply(ALPHA);
      await cluster.apply(deployment("alpha", { pool: "alpha" }));
      await cluster.until("a Machine is launched", () =>
        launched("Machine", "karpenter.sh/v1alpha5", "MachineLaunched"),
      );
      for (const app of ["ec2", "alpha"]) await cluster.remove("Deployment", app, "apps/v1");
      await cluster.remove("NodePool", "ec2", "karpenter.sh/v1");
      await cluster.remove("Provisioner", "alpha", "karpenter.sh/v1alpha5");
      await cluster.remove("EC2NodeClass", "default", "karpenter.k8s.aws/v1");
      const left = async () => [
        ...(await cluster.list("NodeClaim", "karpenter.sh/v1")),
        ...(await cluster.list("Machine", "karpenter.sh/v1alpha5")),
        ...(await cluster.list("EC2NodeClass", "karpenter.k8s.aws/v1")),
      ];
      await cluster.until("everything is gone", async () => (await left()).length === 0);
      await endContainer(child);
    } finally {
      await aws.close();
      await sandbox.close();
    }
  });

  it("sent no request beyond its rights", () => {
    const asked = auditedRequests(cluster.directory).filter(({ user }) => user === ACCOUNT);
    expect(asked.length).toBeGreaterThan(50);
    expect(refusedRequests(cluster.directory, ACCOUNT)).toEqual([]);
    expect(log()).not.toContain("forbidden");
  });

  it("used each right that its webhooks need", () => {
    const used = new Set(
      auditedRequests(cluster.directory).map(({ verb, resource }) => `${verb} ${resource}`),
    );
    expect([...used]).toEqual(
      expect.arrayContaining([
        "get customresourcedefinitions.apiextensions.k8s.io",
        "update customresourcedefinitions.apiextensions.k8s.io",
        "get validatingwebhookconfigurations.admissionregistration.k8s.io",
        "update validatingwebhookconfigurations.admissionregistration.k8s.io",
        "update mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "get secrets",
        "update secrets",
        "update leases.coordination.k8s.io",
      ]),
    );
  });

  it("logs the missing right and the remedy if a right is missing", async () => {
    const poor = await tokenFile(cluster.client, cluster.kubeconfig, NAMESPACE, "default");
    const child = start(APART, poor, logs("poor.log"));
    await cluster.until("it is told", async () =>
      readFileSync(logs("poor.log"), "utf8").includes(
        "grant list and watch on nodepools.karpenter.sh to the controller's service account",
      ),
    );
    await cluster.until("why it does not lead is told", async () =>
      readFileSync(logs("poor.log"), "utf8").includes(
        '"message":"not allowed to lead, waiting for the right"',
      ),
    );
    await endContainer(child);
    // The audit log also records refusals. Therefore their absence in the test above is meaningful.
    const poorly = auditedRequests(cluster.directory).filter(({ user }) => user !== ACCOUNT);
    expect(poorly.some(({ allowed, status }) => !allowed && status === 403)).toBe(true);
    expect(readFileSync(logs("poor.log"), "utf8")).toContain(
      `User \\"system:serviceaccount:${NAMESPACE}:default\\" cannot list resource \\"pods\\"`,
    );
  });

  it("without a running controller: webhooks refuse writes with the errors in docs/guide/troubleshooting.md", async () => {
    for (const child of running) await endContainer(child);
    // Pods that are not ready leave the Service.
    await cluster.client.patch(
      DEPLOYMENT,
      { name: "karpenter", namespace: NAMESPACE },
      { type: "merge", body: { spec: { replicas: 0 } } },
    );
    const page = readFileSync(
      new URL("../../docs/guide/troubleshooting.md", import.meta.url),
      "utf8",
    );
    const said = async (object: KubeObject): Promise<string> => {
      try {
        await cluster.apply(object);
        return "";
      } catch (error) {
        return (error as Error).message;
      }
    };
    const provisioner = {
      apiVersion: "karpenter.sh/v1alpha5",
      kind: "Provisioner",
      metadata: { name: "late" },
      spec: { providerRef: { name: "none" } },
    } as KubeObject;
    for (const [object, sentence] of [
      [provisioner, "failed calling webhook"],
      [betaPool("late"), "conversion webhook for karpenter.sh/"],
    ] as const) {
      expect(page).toContain(sentence);
      await cluster.until(sentence, async () => {
        const text = await said(object);
        return (
          text.includes(sentence) && text.includes('no endpoints available for service "karpenter"')
        );
      });
    }
    expect(page).toContain('no endpoints available for service "karpenter"');
  });

  it("leaves only its CRDs and its Lease after uninstalling", async () => {
    for (const kind of ["NodePool", "Provisioner"])
      for (const { metadata, apiVersion } of await cluster.list(
        kind,
        kind === "NodePool" ? "karpenter.sh/v1" : "karpenter.sh/v1alpha5",
      ))
        await cluster.remove(
          kind,
          metadata.name,
          apiVersion ?? (kind === "NodePool" ? "karpenter.sh/v1" : "karpenter.sh/v1alpha5"),
        );
    await helm.ok(["uninstall", "karpenter", "--namespace", NAMESPACE, "--wait"]);
    const left: string[] = [];
    for (const [kind, version] of [
      ["ClusterRole", "rbac.authorization.k8s.io/v1"],
      ["ClusterRoleBinding", "rbac.authorization.k8s.io/v1"],
      ["Role", "rbac.authorization.k8s.io/v1"],
      ["RoleBinding", "rbac.authorization.k8s.io/v1"],
      ["MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1"],
      ["ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1"],
      ["Deployment", "apps/v1"],
      ["Service", "v1"],
      ["Secret", "v1"],
      ["ServiceAccount", "v1"],
      ["PodDisruptionBudget", "policy/v1"],
    ] as const)
      for (const { metadata } of await cluster.list(kind, version))
        if (/karpenter/.test(metadata.name) && !/^sh\.helm\.release/.test(metadata.name))
          left.push(`${kind} ${metadata.name}`);
    expect(left).toEqual([]);
  });
});

/** An address of this machine: endpoints may not be on loopback. */
function ourAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const found = all.find(({ family, internal }) => family === "IPv4" && !internal);
  if (found === undefined) throw new Error("this machine has no address but loopback");
  return found.address;
}

function betaPool(name: string): KubeObject {
  const nodeClassRef = {
    apiVersion: "karpenter.kwok.sh/v1alpha1",
    kind: "KWOKNodeClass",
    name: "default",
  };
  return {
    apiVersion: "karpenter.sh/v1beta1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: {
        metadata: { labels: { pool: name } },
        spec: {
          nodeClassRef,
          requirements: [ON_DEMAND],
        },
      },
      disruption: { consolidationPolicy: "WhenEmpty", consolidateAfter: "1s" },
    },
  } as KubeObject;
}

/** A node that exists before Karpenter runs. kwok keeps it alive, and it has this machine's address. */
function systemNode(name: string, zone: string): KubeObject {
  const amounts = { cpu: "4", memory: "8Gi", pods: "110" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "kwok.x-k8s.io/node": "fake",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": zone,
      },
      annotations: { "kwok.x-k8s.io/node": "fake" },
    },
    status: {
      capacity: amounts,
      allocatable: amounts,
      addresses: [{ type: "InternalIP", address: ourAddress() }],
    },
  } as unknown as KubeObject;
}

/** A NodePool whose nodes carry its name as a label, so that pods can select them. */
function pool(name: string, ref: object = {}): KubeObject {
  return nodePool(name, {
    template: {
      metadata: { labels: { pool: name } },
      spec: { nodeClassRef: { ...CLASS_REF, ...ref } },
    },
    disruption: { consolidationPolicy: "WhenEmptyOrUnderutilized" },
  });
}

function deployment(name: string, nodeSelector: Readonly<Record<string, string>>): KubeObject {
  return pauseDeployment(name, { replicas: 2, spec: { nodeSelector } });
}

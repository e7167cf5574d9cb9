/**
 * The charts as a user meets them: the real helm renders and installs them on a real control plane, and
 * the controller runs under exactly the ServiceAccount, arguments and environment that they bring. Who
 * may do what is read off kube-apiserver's own audit log.
 */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { discoverResources } from "../../src/sandbox/scenario/resources.ts";
import { auditArguments, auditedRequests } from "./audit.ts";
import { helmBinary } from "./binaries.ts";
import {
  type Container,
  endContainer,
  environmentOf,
  type Helm,
  helmOf,
  kubeconfigOf,
  runContainer,
} from "./helm-release.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const NAMESPACE = "karpenter";
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:karpenter`;
const ON_AWS = ["--set", "settings.clusterName=demo"];
/** Installs as the documents say, with further arguments. */
const INSTALL = ["upgrade", "--install", "karpenter", "{chart}", "--namespace", NAMESPACE];
const LINT = ["lint", "{chart}"];
const TEMPLATE = [
  "template",
  "karpenter",
  "{chart}",
  "--namespace",
  NAMESPACE,
  "--kube-version",
  "1.34.0",
];

/** Values that give every part of the chart something to say. */
const EVERYTHING = {
  provider: "aws",
  nameOverride: "nodes",
  fullnameOverride: "karpenter",
  additionalLabels: { team: "platform" },
  additionalAnnotations: { owner: "platform" },
  imagePullPolicy: "Always",
  imagePullSecrets: [{ name: "registry" }],
  service: { annotations: { "prometheus.io/scrape": "true" } },
  serviceAccount: {
    name: "nodes",
    annotations: { "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x" },
  },
  additionalClusterRoleRules: [{ apiGroups: [""], resources: ["pods/log"], verbs: ["get"] }],
  replicas: 3,
  revisionHistoryLimit: 2,
  strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
  podLabels: { tier: "control" },
  podAnnotations: { "sidecar.istio.io/inject": "false" },
  podDisruptionBudget: { name: "nodes", maxUnavailable: "50%" },
  podSecurityContext: { fsGroup: 2000 },
  priorityClassName: "system-node-critical",
  terminationGracePeriodSeconds: 20,
  hostNetwork: true,
  dnsPolicy: "Default",
  dnsConfig: { options: [{ name: "ndots", value: "1" }] },
  initContainers: [{ name: "wait", image: "busybox", command: ["true"] }],
  nodeSelector: { "kubernetes.io/os": "linux", pool: "system" },
  affinity: {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, podAffinityTerm: { topologyKey: "kubernetes.io/hostname" } },
      ],
    },
  },
  tolerations: [],
  extraVolumes: [{ name: "extra", emptyDir: {} }],
  controller: {
    containerName: "main",
    image: { repository: "registry.example/karpenter", digest: `sha256:${"0".repeat(64)}` },
    env: [{ name: "AWS_REGION", value: "eu-central-1" }],
    envFrom: [{ configMapRef: { name: "more", optional: true } }],
    resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { memory: "1Gi" } },
    securityContext: { seccompProfile: { type: "RuntimeDefault" } },
    extraVolumeMounts: [{ name: "extra", mountPath: "/extra" }],
    sidecarContainer: [{ name: "proxy", image: "envoy" }],
    sidecarVolumeMounts: [{ name: "extra", mountPath: "/extra" }],
    metrics: { port: 9080 },
    healthProbe: { port: 9081 },
  },
  webhook: { port: 9443 },
  settings: {
    clusterName: "{{ .Release.Name }}-1",
    clusterEndpoint: "https://x",
    interruptionQueue: "q",
  },
};

const V0_31 = {
  settings: {
    aws: {
      clusterName: "demo",
      clusterEndpoint: "https://demo",
      defaultInstanceProfile: "KarpenterNodeInstanceProfile-demo",
      interruptionQueueName: "demo",
      vmMemoryOverheadPercent: 0.05,
      enablePodENI: false,
    },
    featureGates: { driftEnabled: true },
  },
  logEncoding: "console",
  controller: { logLevel: "debug" },
};

interface Rendered extends KubeObject {
  readonly spec?: {
    readonly template?: { readonly spec: { readonly containers: readonly Container[] } };
  };
  readonly [field: string]: unknown;
}

let helm: Helm;

function objectsIn(text: string): readonly Rendered[] {
  return parseAllDocuments(text).flatMap((document) => {
    const object = document.toJS() as Rendered | null;
    return object === null ? [] : [object];
  });
}

async function rendered(args: readonly string[], values?: object): Promise<readonly Rendered[]> {
  return objectsIn(await helm.ok([...TEMPLATE, ...args], values));
}

function ofKind(objects: readonly Rendered[], kind: string): readonly Rendered[] {
  return objects.filter((object) => object.kind === kind);
}

function containerIn(objects: readonly Rendered[]): Container {
  const container = ofKind(objects, "Deployment")[0]?.spec?.template?.spec.containers[0];
  if (container === undefined) throw new Error("there is no Deployment");
  return container;
}

function environment(objects: readonly Rendered[]): Record<string, string> {
  return environmentOf(containerIn(objects), NAMESPACE);
}

/** Endpoints may not be on loopback. */
function ourAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const found = all.find(({ family, internal }) => family === "IPv4" && !internal);
  if (found === undefined) throw new Error("this machine has no address but loopback");
  return found.address;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("the charts, by the real helm on a real control plane", () => {
  let cluster: LiveCluster;

  beforeAll(async () => {
    cluster = await openLiveCluster(undefined, {
      bare: true,
      // A Service's webhooks are called at its endpoints, as there is no kube-proxy.
      apiServerArguments: (directory) => [
        ...auditArguments(directory, NAMESPACE),
        "--enable-aggregator-routing=true",
      ],
    });
    helm = helmOf(await helmBinary((line) => process.stderr.write(`${line}\n`)), cluster);
    for (const zone of ["a", "b"]) await cluster.apply(systemNode(`system-${zone}`, zone));
  });
  afterAll(() => cluster?.close());

  /** As a create would be answered; nothing is stored. */
  async function check(objects: readonly Rendered[]): Promise<void> {
    const resources = discoverResources(cluster.client);
    for (const object of objects) {
      const { apiVersion = "", kind = "", metadata } = object;
      const { group, version, plural, namespaced } = await resources.kind(apiVersion, kind);
      const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      const place = namespaced ? `/namespaces/${metadata.namespace}` : "";
      const path = `${root}${place}/${plural}?dryRun=All&fieldValidation=Strict`;
      await cluster.client.raw({ method: "POST", path, body: object });
    }
  }

  describe("rendered", () => {
    beforeAll(() =>
      cluster.apply({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: NAMESPACE },
      } as KubeObject),
    );

    it("pass helm's own checks", async () => {
      await helm.ok([...LINT, "--strict", ...ON_AWS]);
      await helm.ok(["lint", "{crds}", "--strict"]);
    });

    it.each([
      ["by default", { settings: { clusterName: "demo" } }],
      [
        "for kwok, without webhooks and logging config",
        { provider: "kwok", webhook: { enabled: false }, logConfig: { enabled: false } },
      ],
      ["with everything that can be said", EVERYTHING],
      ["from values of v0.31", V0_31],
    ])("are objects that kube-apiserver takes to the letter: %s", async (_name, values) => {
      await check(await rendered([], values));
    });

    it("say all that can be said", async () => {
      const objects = await rendered(["--api-versions", "monitoring.coreos.com/v1"], {
        ...EVERYTHING,
        serviceMonitor: {
          enabled: true,
          additionalLabels: { release: "prometheus" },
          endpointConfig: { interval: "15s" },
        },
      });
      const [deployment] = ofKind(objects, "Deployment");
      const pod = deployment?.spec?.template?.spec as unknown as Record<string, unknown>;
      expect(pod).toMatchObject({
        serviceAccountName: "nodes",
        priorityClassName: "system-node-critical",
        hostNetwork: true,
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                podAffinityTerm: {
                  labelSelector: { matchLabels: { "app.kubernetes.io/name": "nodes" } },
                },
              },
            ],
          },
        },
        containers: [
          { name: "main", image: `registry.example/karpenter@sha256:${"0".repeat(64)}` },
          { name: "proxy", volumeMounts: [{ name: "extra", mountPath: "/extra" }] },
        ],
      });
      expect(environment(objects)).toMatchObject({
        CLUSTER_NAME: "karpenter-1",
        METRICS_PORT: "9080",
        WEBHOOK_PORT: "9443",
        AWS_REGION: "eu-central-1",
      });
      expect(ofKind(objects, "ServiceMonitor")[0]?.spec).toMatchObject({
        endpoints: [{ port: "http-metrics", path: "/metrics", interval: "15s" }],
      });
      for (const { kind, metadata } of objects)
        expect({ kind, ...metadata }).toMatchObject({
          labels: { team: "platform" },
          annotations: { owner: "platform" },
        });
    });

    it("take the flags of seed S1 (S1-23, S1-24, S1-25)", async () => {
      const flags = [
        "serviceAccount.create=false",
        "controller.clusterName=eksworkshop",
        'controller.clusterEndpoint="https://x"',
      ];
      const objects = await rendered(flags.flatMap((flag) => ["--set", flag]));
      expect(ofKind(objects, "ServiceAccount")).toEqual([]);
      const [deployment] = ofKind(objects, "Deployment");
      expect(deployment?.spec?.template?.spec).toMatchObject({ serviceAccountName: "karpenter" });
      expect(environment(objects)).toMatchObject({
        CLUSTER_NAME: "eksworkshop",
        CLUSTER_ENDPOINT: '"https://x"',
      });
    });

    it("take the flags of seed S4 (S4-28 to S4-32)", async () => {
      const role = "arn:aws:iam::123456789012:role/karpenter";
      const objects = await rendered([
        ...["--set", `serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn=${role}`],
        ...["--set", "settings.clusterName=demo", "--set", "settings.clusterEndpoint=https://demo"],
        ...[
          "--set",
          "settings.interruptionQueue=demo",
          "--set",
          "settings.featureGates.drift=true",
        ],
      ]);
      expect(ofKind(objects, "ServiceAccount")[0]?.metadata.annotations).toEqual({
        "eks.amazonaws.com/role-arn": role,
      });
      const { FEATURE_GATES, ...env } = environment(objects);
      expect(env).toMatchObject({
        CLUSTER_NAME: "demo",
        CLUSTER_ENDPOINT: "https://demo",
        INTERRUPTION_QUEUE: "demo",
      });
      expect(FEATURE_GATES?.split(",")).toContain("Drift=true");
      expect(FEATURE_GATES?.split(",")).toContain("SpotToSpotConsolidation=false");
    });

    it("take the gate's key with a capital letter, and the notes say so (S4-33)", async () => {
      const capital = "settings.featureGates.SpotToSpotConsolidation=true";
      const env = environment(await rendered([...ON_AWS, "--set", capital]));
      expect(env["FEATURE_GATES"]?.split(",")).toContain("SpotToSpotConsolidation=true");
      const told = await helm.ok([
        ...INSTALL,
        ...ON_AWS,
        "--set",
        capital,
        "--dry-run",
        "--skip-crds",
      ]);
      expect(told).toContain("settings.featureGates.SpotToSpotConsolidation: an older name");
    });

    it("follow the names of v0.31, and hand on false and zero", async () => {
      expect(environment(await rendered([], V0_31))).toMatchObject({
        CLUSTER_NAME: "demo",
        INTERRUPTION_QUEUE: "demo",
        AWS_DEFAULT_INSTANCE_PROFILE: "KarpenterNodeInstanceProfile-demo",
        VM_MEMORY_OVERHEAD_PERCENT: "0.05",
        ALPHA_DRIFT: "true",
      });
      const off = [
        "--set",
        "settings.ignoreDRARequests=false",
        "--set",
        "settings.vmMemoryOverheadPercent=0",
      ];
      expect(environment(await rendered([...ON_AWS, ...off]))).toMatchObject({
        IGNORE_DRA_REQUESTS: "false",
        VM_MEMORY_OVERHEAD_PERCENT: "0",
      });
    });

    it.each([
      ["no cluster name", [], "settings.clusterName is empty: give the cluster's name"],
      ["a slip of the pen", [...ON_AWS, "--set", "settings.clusterNmae=x"], "clusterNmae"],
      ["a wrong type", [...ON_AWS, "--set", "replicas=many"], "/replicas"],
      ["a wrong word", [...ON_AWS, "--set", "settings.preferencePolicy=Sometimes"], "Respect"],
      [
        "a role to assume",
        [...ON_AWS, "--set", "settings.assumeRoleARN=x"],
        "give the pod a role instead",
      ],
      [
        "a monitor nobody knows",
        [...ON_AWS, "--set", "serviceMonitor.enabled=true"],
        "install the Prometheus operator first",
      ],
    ])("refuse %s and say what to do", async (_name, args, told) => {
      expect(await helm.fails([...TEMPLATE, ...args])).toContain(told);
    });
  });

  describe("installed", () => {
    const running: ChildProcess[] = [];
    let values: object;
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
      const [metrics, health, webhook] = [await freePort(), await freePort(), await freePort()];
      values = {
        provider: "kwok",
        controller: {
          metrics: { port: metrics },
          healthProbe: { port: health },
        },
        webhook: { port: webhook },
        // The pods' address is that of their node, which is this machine: the Service leads to our process.
        hostNetwork: true,
      };
    });
    afterAll(async () => {
      for (const child of running) await endContainer(child);
    });

    const start = (more: Readonly<Record<string, string>> = {}): ChildProcess => {
      const child = runContainer(cluster, kubeconfig, container, {
        ...environmentOf(container, NAMESPACE),
        ...more,
      });
      running.push(child);
      return child;
    };

    it("brings its kinds, and two replicas that the scheduler places apart", async () => {
      const release = ["upgrade", "--install", "karpenter-crd", "{crds}", "--namespace", NAMESPACE];
      await helm.ok([...release, "--create-namespace"]);
      const notes = await helm.ok(
        [...INSTALL, "--skip-crds", "--wait", "--timeout", "90s"],
        values,
      );
      expect(notes).toContain("STATUS: deployed");
      const pods = await cluster.list<Pod>("Pod", "v1", "app.kubernetes.io/name=karpenter");
      expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(["system-a", "system-b"]);
      container = containerIn(
        objectsIn(await helm.ok(["get", "manifest", "karpenter", "--namespace", NAMESPACE])),
      );
      kubeconfig = await kubeconfigOf(
        cluster,
        readFileSync(cluster.kubeconfig, "utf8"),
        NAMESPACE,
        "karpenter",
      );
    });

    it("runs under its ServiceAccount: leads, converts, admits, and answers its probes", async () => {
      start();
      await seen("it leads", "successfully acquired lease");
      await seen("webhooks are served", "webhooks are served");
      const env = environmentOf(container, NAMESPACE);
      await cluster.until("it is ready", async () => {
        const answer = await fetch(`http://127.0.0.1:${env["HEALTH_PROBE_PORT"]}/readyz`);
        return answer.status === 200;
      });
      const metrics = await fetch(`http://127.0.0.1:${env["METRICS_PORT"]}/metrics`);
      expect(await metrics.text()).toContain("karpenter_build_info");
    });

    it("admits Provisioners, by its Service and with the certificate that it made", async () => {
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

    it("brings nodes for pods of a v1 and of a v1beta1 pool, and drains them past a budget", async () => {
      await cluster.apply({
        apiVersion: "karpenter.kwok.sh/v1alpha1",
        kind: "KWOKNodeClass",
        metadata: { name: "default" },
      } as KubeObject);
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

    it("keeps the conversion webhook's authority when the kinds are upgraded", async () => {
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

    it("hands over to the second replica, which takes the rest away", async () => {
      const ports = { METRICS_PORT: "0", HEALTH_PROBE_PORT: "0", DISABLE_WEBHOOK: "true" };
      start(ports);
      await endContainer(running[0] as ChildProcess);
      const leads = () =>
        cluster.log().filter((line) => line.includes("successfully acquired lease")).length === 2;
      await cluster.until("the second leads", async () => leads());
      for (const name of ["web", "old"])
        await cluster.merge("Deployment", name, { spec: { replicas: 0 } }, "apps/v1");
      await cluster.until("no node is left", async () => (await nodes()).length === 0, 120_000);
    });

    it("asked for nothing beyond its rights", () => {
      const asked = auditedRequests(cluster.directory).filter(({ user }) => user === ACCOUNT);
      expect(asked.length).toBeGreaterThan(50);
      const refused = asked.filter(({ allowed, status }) => !allowed || status === 403);
      expect([...new Set(refused.map(({ verb, uri }) => `${verb} ${uri}`))]).toEqual([]);
      expect(log()).not.toContain("forbidden");
    });

    it("used the rights of webhooks", () => {
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

    it("leaves nothing behind but its kinds and its Lease", async () => {
      await endContainer(running.at(-1) as ChildProcess);
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
});

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
          requirements: [
            { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
          ],
        },
      },
      disruption: { consolidationPolicy: "WhenEmpty", consolidateAfter: "1s" },
    },
  } as KubeObject;
}

/** A node that is there before Karpenter is, that kwok keeps alive, and that has our address. */
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

function pool(name: string): KubeObject {
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: {
        metadata: { labels: { pool: name } },
        spec: {
          nodeClassRef: { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" },
          requirements: [
            { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
          ],
        },
      },
      disruption: {
        consolidationPolicy: "WhenEmptyOrUnderutilized",
        consolidateAfter: "1s",
        budgets: [{ nodes: "100%" }],
      },
    },
  } as KubeObject;
}

function deployment(name: string, nodeSelector: Readonly<Record<string, string>>): KubeObject {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector,
          terminationGracePeriodSeconds: 0,
          containers: [{ name: "c", image: "pause", resources: { requests: { cpu: "1" } } }],
        },
      },
    },
  } as KubeObject;
}

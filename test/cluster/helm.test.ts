/**
 * The charts as the real helm renders them for many values. A real kube-apiserver accepts the result. It means the
 * same as upstream's chart and the seeds' commands with these values. helm-install.test.ts tests the installed
 * charts.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REQUIRED } from "../../scripts/chart/chart-files.ts";
import { chartValues } from "../../scripts/chart/values.ts";
import { customResourceDefinitions } from "../../src/apis/crds/all.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { discoverResources } from "../../src/sandbox/scenario/resources.ts";
import { helmBinary } from "./binaries.ts";
import {
  containerIn,
  environmentOf,
  type Helm,
  helmOf,
  IMAGE,
  objectsIn,
  ofKind,
  type Rendered,
} from "./helm-release.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const NAMESPACE = "karpenter";
const ON_AWS = ["--set", "settings.clusterName=demo"];
/** The install command of the install guide, with further arguments. */
const INSTALL = [
  "upgrade",
  "--install",
  "karpenter",
  "{chart}",
  "--namespace",
  NAMESPACE,
  ...IMAGE,
];
const LINT = ["lint", "{chart}", ...IMAGE];
const WITHOUT_IMAGE = [
  "template",
  "karpenter",
  "{chart}",
  "--namespace",
  NAMESPACE,
  "--kube-version",
  "1.34.0",
];
const TEMPLATE = [...WITHOUT_IMAGE, ...IMAGE];

/** Values that use every part of the chart. */
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
  webhook: { logLevel: "error" },
  controller: { logLevel: "debug" },
};

let helm: Helm;

const VALUES = new URL("../../deploy/charts/karpenter/values.yaml", import.meta.url);

function withNull(values: object, [key = "", ...rest]: readonly string[]): object {
  const inner = (values as Readonly<Record<string, object>>)[key] ?? {};
  return { ...values, [key]: rest.length === 0 ? null : withNull(inner, rest) };
}

async function rendered(args: readonly string[], values?: object): Promise<readonly Rendered[]> {
  return objectsIn(await helm.ok([...TEMPLATE, ...args], values));
}

function environment(objects: readonly Rendered[]): Record<string, string> {
  return environmentOf(containerIn(objects), NAMESPACE);
}

describe("the charts, rendered and installed by the real helm", () => {
  let cluster: LiveCluster;

  beforeAll(async () => {
    cluster = await openLiveCluster(undefined, { bare: true });
    helm = helmOf(await helmBinary((line) => process.stderr.write(`${line}\n`)), cluster);
  });
  afterAll(() => cluster?.close());

  /** Creates the objects with `dryRun`: the server validates them and stores nothing. */
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

  describe("rendered manifests", () => {
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
    ])("are accepted by kube-apiserver with strict fields: %s", async (_name, values) => {
      await check(await rendered([], values));
    });

    it("contain every optional part that values can turn on", async () => {
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

    it("accept the flags of seed S1 (S1-23, S1-24, S1-25)", async () => {
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

    it("accept the flags of seed S4 (S4-28, S4-29, S4-30, S4-31, S4-32)", async () => {
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

    it("accept the gate's key with a capital letter, and the notes say so (S4-33)", async () => {
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

    it("accept the value names of v0.31, and pass on false and zero", async () => {
      expect(environment(await rendered([], V0_31))).toMatchObject({
        CLUSTER_NAME: "demo",
        INTERRUPTION_QUEUE: "demo",
        AWS_DEFAULT_INSTANCE_PROFILE: "KarpenterNodeInstanceProfile-demo",
        VM_MEMORY_OVERHEAD_PERCENT: "0.05",
        ALPHA_DRIFT: "true",
      });
      const maps = ofKind(await rendered([], V0_31), "ConfigMap");
      const logging = maps.find((one) => one.metadata.name === "config-logging");
      const data = logging?.["data"] as Readonly<Record<string, string>>;
      expect(data["loglevel.webhook"]).toBe("error");
      expect(JSON.parse(data["zap-logger-config"] ?? "")).toEqual({
        level: "debug",
        encoding: "console",
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

    it.each<[readonly string[], string, string]>([
      [[], "true", "DRANVIDIAGPU=false,DRAEFA=false"],
      [["enableDRA=true"], "false", "DRANVIDIAGPU=true,DRAEFA=true"],
      [["awsFeatureGates.draEFA=true"], "false", "DRANVIDIAGPU=false,DRAEFA=true"],
      [
        ["awsFeatureGates.draNVIDIAGPU=true", "ignoreDRARequests=true"],
        "false",
        "DRANVIDIAGPU=true,DRAEFA=false",
      ],
      [["ignoreDRARequests=false"], "false", "DRANVIDIAGPU=false,DRAEFA=false"],
    ])("follow the values for planning claims: %j", async (given, ignored, gates) => {
      const flags = given.flatMap((one) => ["--set", `settings.${one}`]);
      const onAws = ["--set", "provider=aws"];
      const env = environment(await rendered([...ON_AWS, ...onAws, ...flags]));
      expect(env["IGNORE_DRA_REQUESTS"]).toBe(ignored);
      // The chart leaves out a variable whose value is the program's default.
      const { AWS_FEATURE_GATES = "DRANVIDIAGPU=false,DRAEFA=false" } = env;
      expect(AWS_FEATURE_GATES).toContain(gates);
    });

    it("leave out values that are null, so the defaults of the program and of Kubernetes apply", async () => {
      const nothing = chartValues(readFileSync(VALUES, "utf8"))
        .filter(({ name }) => !REQUIRED.has(name))
        .reduce((all, { name }) => withNull(all, name.split(".")), {});
      const objects = await rendered([...ON_AWS, "--set", "provider=aws"], nothing);
      expect(JSON.stringify(objects)).not.toMatch(/<nil>|%!/);
      expect(Object.keys(environment(objects))).not.toContain("BATCH_MAX_DURATION");
      await check(objects);
    });

    it.each([
      ["no cluster name", [], "settings.clusterName is empty: give the cluster's name"],
      ["a slip of the pen", [...ON_AWS, "--set", "settings.clusterNmae=x"], "clusterNmae"],
      [
        "a group that was taken away, as --reuse-values does after another chart",
        [...ON_AWS, "--set", "webhook=null"],
        "missing property 'webhook'",
      ],
      [
        "one thing twice, though equally",
        [...ON_AWS, "--set", "settings.enableDRA=true,settings.awsFeatureGates.draEFA=true"],
        "settings.enableDRA is true and settings.awsFeatureGates.draEFA is true: enableDRA sets it",
      ],
      ["half a node", [...ON_AWS, "--set", "podDisruptionBudget.maxUnavailable=half"], "half"],
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
    ])("refuse %s with a remedy", async (_name, args, told) => {
      expect(await helm.fails([...TEMPLATE, ...args])).toContain(told);
    });

    it.each([
      ["without an image", []],
      ["with a digest alone", ["--set", `controller.image.digest=sha256:${"0".repeat(64)}`]],
    ])("cannot be rendered %s, and the error names the value to set", async (_name, args) => {
      expect(await helm.fails([...WITHOUT_IMAGE, ...ON_AWS, ...args])).toContain(
        "controller.image.repository is empty: say where your image is",
      );
    });

    it("define pods that a namespace with restricted pod security admits", async () => {
      const namespace = "restricted";
      const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
      await cluster.apply({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace, labels },
      } as KubeObject);
      const [deployment] = ofKind(await rendered(ON_AWS), "Deployment");
      const spec = { ...deployment?.spec?.template?.spec, serviceAccountName: "default" };
      const create = (pod: object) =>
        cluster.client.raw({
          method: "POST",
          path: `/api/v1/namespaces/${namespace}/pods?dryRun=All`,
          body: { apiVersion: "v1", kind: "Pod", metadata: { name: "karpenter" }, spec: pod },
        });
      await cluster.until("the namespace has its ServiceAccount", async () =>
        create(spec).then(
          () => true,
          (error: unknown) => {
            if (String(error).includes("PodSecurity")) throw error;
            return false;
          },
        ),
      );
      await expect(create({ ...spec, hostNetwork: true })).rejects.toThrow("PodSecurity");
    });

    it("pass their kinds to the chart of kinds, as the guide says", async () => {
      await helm.ok(INSTALL, { provider: "kwok" });
      const kinds = ["upgrade", "--install", "karpenter-crd", "{crds}", "--namespace", NAMESPACE];
      expect(await helm.fails(kinds)).toContain("cannot be imported into the current release");
      const version = "apiextensions.k8s.io/v1";
      const found = await cluster.list("CustomResourceDefinition", version);
      expect(found).toHaveLength(customResourceDefinitions().length);
      const metadata = {
        labels: { "app.kubernetes.io/managed-by": "Helm" },
        annotations: {
          "meta.helm.sh/release-name": "karpenter-crd",
          "meta.helm.sh/release-namespace": NAMESPACE,
        },
      };
      for (const crd of found)
        await cluster.merge("CustomResourceDefinition", crd.metadata.name, { metadata }, version);
      await helm.ok(kinds);
    });
  });
});

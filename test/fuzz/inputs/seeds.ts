/** Valid inputs to mutate: the examples and fixtures of the repository, and one of each review and request. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LIMITS } from "../../../src/readers/limits.ts";
import { readYaml } from "../../../src/readers/yaml.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const FOLDERS = ["examples", "test/fixtures/seeds", "test/calm/loops"];

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .map((name) => join(ROOT, folder, name));
}

/** Texts of all examples and fixtures. */
export const MANIFESTS: readonly string[] = FOLDERS.flatMap(filesBelow).map((file) =>
  readFileSync(file, "utf8"),
);

type Json = Record<string, unknown>;

const documents = MANIFESTS.flatMap((text) => {
  try {
    return readYaml(text, { source: "seed", limits: LIMITS.manifests }) as Json[];
  } catch {
    // Templates are no valid YAML.
    return [];
  }
});

/** Objects of the examples and fixtures. */
export const OBJECTS = documents.filter((one) => typeof one?.["kind"] === "string");
export const STORIES = documents.filter((one) => Array.isArray(one?.["steps"]));

export const OURS = OBJECTS.filter(({ apiVersion }) => String(apiVersion).startsWith("karpenter."));

/** A Node and other objects, as `explain` reads them. */
export const CLUSTER: readonly Json[] = [
  {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name: "default" },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
          requirements: [{ key: "kubernetes.io/arch", operator: "In", values: ["amd64"] }],
          expireAfter: "720h",
        },
      },
      disruption: { consolidationPolicy: "WhenEmptyOrUnderutilized", consolidateAfter: "1m" },
      limits: { cpu: "1000" },
    },
  },
  {
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: { name: "default-1", labels: { "karpenter.sh/nodepool": "default" } },
    spec: {
      nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
      requirements: [{ key: "kubernetes.io/arch", operator: "In", values: ["amd64"] }],
    },
    status: { nodeName: "node-1", providerID: "fuzz://1" },
  },
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: "node-1",
      labels: {
        "karpenter.sh/nodepool": "default",
        "kubernetes.io/hostname": "node-1",
        "topology.kubernetes.io/zone": "zone-a",
        "node.kubernetes.io/instance-type": "small",
        "karpenter.sh/capacity-type": "on-demand",
      },
    },
    spec: { providerID: "fuzz://1" },
    status: {
      capacity: { cpu: "4", memory: "8Gi", pods: "10" },
      allocatable: { cpu: "4", memory: "8Gi", pods: "10" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default", labels: { app: "web" } },
    spec: {
      nodeName: "node-1",
      containers: [{ name: "main", image: "x", resources: { requests: { cpu: "1" } } }],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "topology.kubernetes.io/zone",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { app: "web" } },
        },
      ],
    },
    status: { phase: "Running" },
  },
];

export const INSTANCE_TYPES = [
  {
    name: "small",
    labels: { "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux" },
    capacity: { cpu: "4", memory: "8Gi", pods: "10" },
    overhead: { cpu: "100m" },
    offerings: [
      { zone: "zone-a", capacityType: "on-demand", priceMicroUsdPerHour: 100_000 },
      { zone: "zone-a", capacityType: "spot", priceMicroUsdPerHour: 40_000 },
    ],
  },
];

export const USER_DATA: readonly string[] = [
  "#!/bin/bash\necho hello\n",
  'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\n--B\nContent-Type: text/x-shellscript\n\necho\n--B\nContent-Type: application/node.eks.aws\n\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 5}}}\n--B--\n',
  "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config: &c {maxPods: 5}\n    flags: [--node-labels=a=b]\n",
  '[settings.kubernetes]\ncluster-name = "c"\nmax-pods = 10\n[settings.kubernetes.node-labels]\n"a.b/c" = "d"\n[settings.kubernetes.node-taints]\nx = ["y:NoSchedule"]\n[[settings.a]]\nb = { c = [1, 2.5, 1979-05-27] }\n',
  "<powershell>\nWrite-Host 'x'\n</powershell>\n",
];

export const KUBECONFIG = {
  apiVersion: "v1",
  kind: "Config",
  clusters: [
    {
      name: "c",
      cluster: { server: "https://127.0.0.1:6443", "certificate-authority-data": "YQ==" },
    },
  ],
  users: [
    { name: "u", user: { token: "t" } },
    {
      name: "e",
      user: {
        exec: {
          apiVersion: "client.authentication.k8s.io/v1",
          command: "x",
          args: ["a"],
          env: [{ name: "A", value: "b" }],
        },
      },
    },
    {
      name: "o",
      user: { "auth-provider": { name: "oidc", config: { "idp-issuer-url": "https://x" } } },
    },
  ],
  contexts: [
    { name: "a", context: { cluster: "c", user: "u", namespace: "default" } },
    { name: "b", context: { cluster: "c", user: "e" } },
    { name: "d", context: { cluster: "c", user: "o" } },
  ],
  "current-context": "a",
};

/** Bodies of messages of the interruption queue. */
export const MESSAGES = [
  {
    version: "0",
    source: "aws.ec2",
    "detail-type": "EC2 Spot Instance Interruption Warning",
    detail: { "instance-id": "i-0123456789abcdef0", "instance-action": "terminate" },
  },
  {
    version: "0",
    source: "aws.ec2",
    "detail-type": "EC2 Instance State-change Notification",
    detail: { "instance-id": "i-0123456789abcdef0", state: "stopping" },
  },
  {
    version: "0",
    source: "aws.health",
    "detail-type": "AWS Health Event",
    detail: {
      service: "EC2",
      eventTypeCategory: "scheduledChange",
      affectedEntities: [{ entityValue: "i-0123456789abcdef0" }],
    },
  },
];

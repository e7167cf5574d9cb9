/** Our own kinds, as CustomResourceDefinitions make them: pruning, defaults, rules, columns. */
import {
  AS_METADATA,
  AS_TABLE,
  apply,
  type Check,
  check,
  del,
  get,
  jsonPatch,
  mergePatch,
  post,
  put,
  strategicPatch,
} from "./check.ts";

const POOLS = "/apis/karpenter.sh/v1/nodepools";
const CLAIMS = "/apis/karpenter.sh/v1/nodeclaims";
const CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";

const REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };

function pool(name: string, template: object = {}, more: object = {}): object {
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name },
    spec: { template: { spec: { nodeClassRef: REF, requirements: [], ...template } }, ...more },
  };
}

function claim(name: string, spec: object = {}): object {
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: { name },
    spec: { nodeClassRef: REF, requirements: [], ...spec },
  };
}

function nodeClass(name: string, spec: object = {}): object {
  return {
    apiVersion: "karpenter.k8s.aws/v1",
    kind: "EC2NodeClass",
    metadata: { name },
    spec: {
      role: "r",
      amiSelectorTerms: [{ alias: "al2023@latest" }],
      subnetSelectorTerms: [{ tags: { a: "b" } }],
      securityGroupSelectorTerms: [{ tags: { a: "b" } }],
      ...spec,
    },
  };
}

export const CUSTOM_CHECKS: readonly Check[] = [
  check(
    "CR-01",
    "a pool gets its defaults and loses what nobody knows",
    post(POOLS, pool("cr-01")),
    post(POOLS, { ...pool("cr-01-b"), nonsense: { deep: true } }),
    post(`${POOLS}?fieldValidation=Strict`, pool("cr-01-c", { nodeClassReff: {} })),
    post(`${POOLS}?fieldValidation=Warn`, pool("cr-01-d", { nodeClassReff: {} })),
    mergePatch(`${POOLS}/cr-01`, { spec: { disruption: { budgets: [] } } }),
    get(`${POOLS}/cr-01`, { headers: AS_TABLE }),
    get(`${POOLS}/cr-01`, { headers: AS_METADATA }),
    del(`${POOLS}/cr-01`),
    del(`${POOLS}/cr-01-b`),
    del(`${POOLS}/cr-01-d`),
  ),
  check(
    "CR-02",
    "a pool that its schema refuses",
    post(POOLS, { apiVersion: "karpenter.sh/v1", kind: "NodePool", metadata: { name: "cr-02" } }),
    post(POOLS, { ...pool("cr-02"), spec: {} }),
    post(POOLS, pool("cr-02", { nodeClassRef: { ...REF, kind: "" } })),
    post(POOLS, pool("cr-02", { requirements: [{ key: "a/b/c", operator: "In", values: ["x"] }] })),
    post(
      POOLS,
      pool("cr-02", { requirements: [{ key: "kubernetes.io/arch", operator: "Within" }] }),
    ),
    post(
      POOLS,
      pool("cr-02", { requirements: [{ key: "kubernetes.io/arch", operator: "In", values: [] }] }),
    ),
    post(
      POOLS,
      pool("cr-02", { requirements: [{ key: "kubernetes.io/hostname", operator: "Exists" }] }),
    ),
    post(
      POOLS,
      pool("cr-02", { requirements: [{ key: "x.com/a", operator: "Gt", values: ["-1"] }] }),
    ),
    post(POOLS, pool("cr-02", { taints: [{ key: "a", effect: "Never" }] })),
    post(POOLS, pool("cr-02", { expireAfter: "soon" })),
    post(POOLS, pool("cr-02", {}, { weight: 0 })),
    post(POOLS, pool("cr-02", {}, { weight: "heavy" })),
    post(POOLS, pool("cr-02", {}, { limits: { cpu: "many" } })),
    post(
      POOLS,
      pool("cr-02", {}, { disruption: { consolidateAfter: "1h", consolidationPolicy: "Never" } }),
    ),
    post(POOLS, pool("cr-02", {}, { disruption: { consolidationPolicy: "WhenEmpty" } })),
    post(
      POOLS,
      pool("cr-02", {}, { disruption: { consolidateAfter: "0s", budgets: [{ nodes: "200%" }] } }),
    ),
    post(
      POOLS,
      pool(
        "cr-02",
        {},
        { disruption: { consolidateAfter: "0s", budgets: [{ nodes: "1", schedule: "@daily" }] } },
      ),
    ),
    post(
      POOLS,
      pool(
        "cr-02",
        {},
        { disruption: { consolidateAfter: "0s", budgets: [{ nodes: "1", reasons: ["Boredom"] }] } },
      ),
    ),
    post(POOLS, {
      ...pool("cr-02"),
      spec: {
        template: {
          metadata: { labels: { "karpenter.sh/nodepool": "x", "kubernetes.io/hostname": "y" } },
          spec: { nodeClassRef: REF, requirements: [] },
        },
      },
    }),
  ),
  check(
    "CR-03",
    "generation, status and the ways to change a pool",
    post(POOLS, pool("cr-03", {}, { limits: { cpu: 10 } })),
    mergePatch(`${POOLS}/cr-03`, { spec: { limits: { cpu: "20" } } }),
    mergePatch(`${POOLS}/cr-03`, { status: { resources: { cpu: "1" } } }),
    mergePatch(`${POOLS}/cr-03/status`, {
      spec: { weight: 5 },
      status: { resources: { cpu: "1" } },
    }),
    mergePatch(`${POOLS}/cr-03/status`, {
      status: { conditions: [{ type: "Ready", status: "Perhaps" }] },
    }),
    jsonPatch(`${POOLS}/cr-03`, [{ op: "add", path: "/spec/weight", value: 7 }]),
    strategicPatch(`${POOLS}/cr-03`, { spec: { weight: 8 } }),
    put(`${POOLS}/cr-03`, pool("cr-03")),
    mergePatch(`${POOLS}/cr-03`, { metadata: { labels: { a: "b" } } }),
    mergePatch(`${POOLS}/cr-03`, {
      spec: { template: { spec: { nodeClassRef: { group: "other.io" } } } },
    }),
    get(`${POOLS}/cr-03/scale`),
    del(`${POOLS}/cr-03`),
  ),
  check(
    "CR-04",
    "a pool under two appliers",
    apply(
      `${POOLS}/cr-04?fieldManager=one`,
      pool("cr-04", {}, { weight: 1, limits: { cpu: "1" } }),
    ),
    apply(`${POOLS}/cr-04?fieldManager=two`, {
      apiVersion: "karpenter.sh/v1",
      kind: "NodePool",
      metadata: { name: "cr-04" },
      spec: { weight: 2 },
    }),
    apply(`${POOLS}/cr-04?fieldManager=two&force=true`, {
      apiVersion: "karpenter.sh/v1",
      kind: "NodePool",
      metadata: { name: "cr-04" },
      spec: { weight: 2, limits: { memory: "1Gi" } },
    }),
    apply(`${POOLS}/cr-04?fieldManager=one`, pool("cr-04", { nonsense: 1 })),
    apply(`${POOLS}/cr-04?fieldManager=one`, pool("cr-04", {}, { limits: { cpu: "1" } })),
    del(`${POOLS}/cr-04`),
  ),
  check(
    "CR-05",
    "a claim's spec does not change",
    post(CLAIMS, claim("cr-05")),
    mergePatch(`${CLAIMS}/cr-05`, { spec: { expireAfter: "1h" } }),
    mergePatch(`${CLAIMS}/cr-05/status`, {
      status: { providerID: "x:///1", nodeName: "n", capacity: { cpu: "4" } },
    }),
    mergePatch(`${CLAIMS}/cr-05`, { metadata: { finalizers: ["karpenter.sh/termination"] } }),
    get(`${CLAIMS}/cr-05`, { headers: AS_TABLE }),
    get(`${CLAIMS}?fieldSelector=status.providerID%3Dx:///1`),
    get(`${CLAIMS}?fieldSelector=spec.expireAfter%3Dx`),
    del(`${CLAIMS}/cr-05`),
    mergePatch(`${CLAIMS}/cr-05`, { metadata: { finalizers: [] } }),
    post(
      CLAIMS,
      claim("cr-05-b", {
        requirements: [{ key: "karpenter.sh/nodepool", operator: "Exists", minValues: 60 }],
      }),
    ),
  ),
  check(
    "CR-06",
    "a node class: defaults, rules across fields, what may not change",
    post(CLASSES, nodeClass("cr-06")),
    post(CLASSES, nodeClass("cr-06-b", { role: undefined })),
    post(CLASSES, nodeClass("cr-06-b", { instanceProfile: "p" })),
    post(CLASSES, nodeClass("cr-06-b", { amiSelectorTerms: [] })),
    post(CLASSES, nodeClass("cr-06-b", { amiSelectorTerms: [{ id: "ami-1" }] })),
    post(CLASSES, nodeClass("cr-06-b", { amiSelectorTerms: [{ alias: "al2023" }] })),
    post(
      CLASSES,
      nodeClass("cr-06-b", { amiSelectorTerms: [{ alias: "al2023@latest" }, { id: "ami-123" }] }),
    ),
    post(CLASSES, nodeClass("cr-06-b", { subnetSelectorTerms: [{}] })),
    post(CLASSES, nodeClass("cr-06-b", { subnetSelectorTerms: [{ tags: { "": "x" } }] })),
    post(CLASSES, nodeClass("cr-06-b", { tags: { "karpenter.sh/nodepool": "x" } })),
    post(
      CLASSES,
      nodeClass("cr-06-b", { blockDeviceMappings: [{ deviceName: "/dev/xvda", ebs: {} }] }),
    ),
    post(
      CLASSES,
      nodeClass("cr-06-b", {
        blockDeviceMappings: [
          { deviceName: "/dev/xvda", rootVolume: true, ebs: { volumeSize: "20Gi" } },
          { deviceName: "/dev/xvdb", rootVolume: true, ebs: { volumeSize: "20Gi" } },
        ],
      }),
    ),
    post(CLASSES, nodeClass("cr-06-b", { metadataOptions: { httpTokens: "maybe" } })),
    post(
      CLASSES,
      nodeClass("cr-06-b", { kubelet: { evictionSoft: { "memory.available": "5%" } } }),
    ),
    mergePatch(`${CLASSES}/cr-06`, { spec: { role: null, instanceProfile: "p" } }),
    get(`${CLASSES}/cr-06`, { headers: AS_TABLE }),
    get(CLASSES, { headers: AS_TABLE }),
    del(`${CLASSES}/cr-06`),
  ),
  check(
    "CR-08",
    "a claim that waits for its finalizer",
    post(CLAIMS, {
      ...claim("cr-08"),
      metadata: { name: "cr-08", finalizers: ["x.example.com/1"] },
    }),
    del(`${CLAIMS}/cr-08`),
    mergePatch(`${CLAIMS}/cr-08`, {
      metadata: { finalizers: ["x.example.com/1", "x.example.com/2"] },
    }),
    post(CLAIMS, claim("cr-08")),
    jsonPatch(`${CLAIMS}/cr-08`, [{ op: "remove", path: "/metadata/finalizers" }]),
    get(`${CLAIMS}/cr-08`),
  ),
  check(
    "CR-07",
    "discovery of our kinds",
    get("/apis/karpenter.sh"),
    get("/apis/karpenter.sh/v1"),
    get("/apis/karpenter.k8s.aws/v1"),
    get("/apis/karpenter.sh/v9"),
  ),
];

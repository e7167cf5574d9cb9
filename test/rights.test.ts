/**
 * Karpenter in the sandbox runs with exactly the chart's rights (src/operator/rights.ts), so every test with a
 * cluster proves that they suffice. This test proves the reverse. It plays a cluster's whole life, and each right
 * that was not used must be in the list below with the reason why it is needed.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Pod } from "../src/apis/core/pod.ts";
import {
  accessOf,
  coveredBy,
  type ProviderName,
  rightsOf,
  underRights,
  webhookRights,
} from "../src/operator/rights.ts";
import { readSources } from "./tidy/sources.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

/** Rights (`verb resource`) that only a fault or a rare feature needs, with the reason. */
const SELDOM: Readonly<Record<string, string>> = {
  "patch deployments":
    "a workload that asks to be moved without downtime (test/calm/surge.test.ts)",
  "get customresourcedefinitions": "a kind that is not served (test/robustness.test.ts)",
  "get nodes":
    "read again after a conflict; a Node that kwok's controller made before it crashed (test/cluster/crashes.test.ts)",
  "get nodeclaims": "read again after a conflict",
  "get machines": "read again after a conflict",
  "patch nodes/status": "a reboot that node repair asks for (src/providers/kwok/kwok.test.ts)",
  "get nodepools": "read again after a conflict",
  "get provisioners": "read again after a conflict",
};

/** Moves without downtime may roll over every Deployment. */
const EVERYWHERE = { isOn: true, namespaces: ["*"] };

const GATES = ["PodDeletionCostManagement"] as const;

const SPREAD =
  "podTopologySpread: {defaultConstraints: [{maxSkew: 5, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]}";

const CLASS = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };

function pool(name: string, nodeClassRef: object, terminationGracePeriod?: string): string {
  return JSON.stringify({
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name },
    spec: {
      template: {
        metadata: { labels: { pool: name } },
        spec: {
          nodeClassRef,
          requirements: [
            { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
            { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
          ],
          ...(terminationGracePeriod === undefined ? {} : { terminationGracePeriod }),
        },
      },
      disruption: { consolidationPolicy: "WhenEmptyOrUnderutilized", consolidateAfter: "30s" },
    },
  });
}

function deployment(name: string, to: object, annotations: object = {}): string {
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, annotations },
        spec: {
          nodeSelector: to,
          containers: [{ name: "app", image: "pause", resources: { requests: { cpu: "1" } } }],
        },
      },
    },
  });
}

const EC2_NODE_CLASS = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-karpenter-demo
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: karpenter-demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: karpenter-demo}}]
`;

const OVERLAY = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: discount}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}]
  priceAdjustment: "-10%"
`;

const BUFFERS = [
  "{kind: Deployment, name: none}",
  "{kind: ReplicaSet, name: none}",
  "{kind: StatefulSet, name: none}",
  "{apiGroup: batch, kind: Job, name: none}",
]
  .map(
    (ref, index) => `
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare-${index}, namespace: default}
spec: {scalableRef: ${ref}, replicas: 1}
`,
  )
  .join("");

const VPA_CRD = readFileSync("test/fixtures/vertical-pod-autoscaler.yaml", "utf8");

const ALPHA = `
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: alpha}
spec:
  subnetSelector: {karpenter.sh/discovery: karpenter-demo}
  securityGroupSelector: {karpenter.sh/discovery: karpenter-demo}
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: alpha}
spec:
  providerRef: {name: alpha}
  labels: {pool: alpha}
  ttlSecondsAfterEmpty: 30
`;

async function running(world: TestWorld, app: string): Promise<number> {
  const pods = await world.list<Pod>("Pod", "v1", `app=${app}`);
  return pods.filter(({ status }) => status?.phase === "Running").length;
}

async function liveThrough(
  provider: "aws" | "kwok",
  story: (world: TestWorld) => Promise<void>,
): Promise<{ readonly refused: readonly string[]; readonly unused: readonly string[] }> {
  const rights = rightsOf(provider, EVERYWHERE);
  const used = new Set<string>();
  const refused: string[] = [];
  const world = await openWorld({
    provider,
    sells: isUsual,
    isAsked: true,
    flags: {
      "disable-leader-election": "false",
      "scheduler-config": SPREAD,
      "feature-gates": "NodeOverlay=true,CapacityBuffer=true",
      "ignore-dra-requests": "false",
      "read-vpa-recommendations": "true",
    },
    connectKube: ({ transport }) =>
      underRights(transport, rights, "karpenter", ({ verb, resource }, right) => {
        if (right === undefined) refused.push(`${verb} ${resource}`);
        else used.add(`${verb} ${resource}`);
      }),
  });
  try {
    await story(world);
  } finally {
    await world.close();
  }
  const granted = rights.flatMap(({ resources, verbs }) =>
    verbs.flatMap((verb) => resources.map((resource) => `${verb} ${resource}`)),
  );
  return { refused, unused: [...new Set(granted)].filter((one) => !used.has(one)) };
}

/** The verbs that a call needs. Calls not listed here are named after their verb. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  of: ["list", "watch"],
  patchObject: ["patch"],
};
/** Folders whose calls are made with the controller's own account. */
const UNDER_RIGHTS = /^src\/(controllers|kube|operator|providers)\//;
const KINDS =
  /^export const ([A-Z_0-9]+)(?:: Kind\b[^=]*)? = (?:\{[^}]*?plural: |\w+(?:<\w+>)?\(\s*"\w+",\s*)"(\w+)"/gm;
const CALLS =
  /\b(?:(?:kube|client)\.(get|list|create|update|patch|delete)\(|(of)\(|(patchObject)\([^,()]*,)\s*([A-Z][A-Z_0-9]+)\b/g;

/** `verb plural` of every call that names its kind, in code that runs with this provider. */
function callsInCode(provider: ProviderName): readonly string[] {
  const files = readSources("src").filter(({ isTest }) => !isTest);
  const kinds = new Map<string, string>();
  for (const { text } of files)
    for (const [, name = "", plural = ""] of text.matchAll(KINDS)) kinds.set(name, plural);
  return files
    .filter(({ path }) => UNDER_RIGHTS.test(path))
    .filter(({ path }) => (/^src\/providers\/(\w+)/.exec(path)?.[1] ?? provider) === provider)
    .flatMap(({ text }) => [...text.matchAll(CALLS)])
    .flatMap(([, method, mirror, patch, kind = ""]) => {
      const verb = method ?? mirror ?? patch ?? "";
      const named = kinds.get(kind);
      if (named === undefined) throw new Error(`${kind}: no such kind is defined in src`);
      return (VERBS[verb] ?? [verb]).map((one) => `${one} ${named}`);
    });
}

describe("the rights of the controller", () => {
  it.each(["aws", "kwok"] as const)(
    "cover every call in the code of %s with the kinds it names, also calls after errors",
    (provider) => {
      const granted = new Set(
        [...rightsOf(provider, EVERYWHERE, GATES), ...webhookRights()].flatMap(
          ({ resources, verbs }) =>
            // A patch call in the code does not say whether it reaches the object or its status.
            verbs.flatMap((verb) =>
              resources.map((one) => `${verb} ${one.replace("/status", "")}`),
            ),
        ),
      );
      const calls = [...new Set(callsInCode(provider))].sort();
      expect(calls.length).toBeGreaterThan(40);
      expect(calls.filter((call) => !granted.has(call))).toEqual([]);
    },
  );

  it("are exactly those that a run on AWS with both generations uses", async () => {
    const { refused, unused } = await liveThrough("aws", async (world) => {
      await world.apply(VPA_CRD);
      await world.apply(EC2_NODE_CLASS);
      await world.apply(OVERLAY + BUFFERS);
      await world.apply(pool("default", CLASS, "1m"));
      await world.apply(deployment("web", { pool: "default" }));
      await world.apply(ALPHA);
      await world.apply(deployment("old", { pool: "alpha" }));
      await world.until(
        "all pods run",
        async () => (await running(world, "web")) + (await running(world, "old")) === 4,
      );
      const evicted = await world.list("Node", "v1", "pool=alpha");
      await world.remove("Node", evicted[0]?.metadata.name ?? "");
      // The drain must delete pods that may not be evicted, when the node's grace period ends.
      await world.apply(
        deployment("web", { pool: "default" }, { "karpenter.sh/do-not-disrupt": "true" }),
      );
      // After ten minutes the reason that keeps the node is published again, by a patch of the same Event.
      await world.advance(600_000);
      const [node] = await world.list("Node", "v1", "pool=default");
      await world.remove("Node", node?.metadata.name ?? "");
      await world.advance(120_000);
      for (const name of ["web", "old"]) await world.scale(name, 0);
      const gone = async () =>
        (await world.list("Node", "v1", "karpenter.sh/nodepool")).length === 0 &&
        (await world.list("Node", "v1", "karpenter.sh/provisioner-name")).length === 0;
      await world.until("all nodes are gone", gone, 600_000);
    });
    expect(refused).toEqual([]);
    expect(unused.filter((one) => SELDOM[one] === undefined)).toEqual([]);
  });

  it("are exactly those that a run on kwok uses", async () => {
    const { refused, unused } = await liveThrough("kwok", async (world) => {
      const group = "karpenter.kwok.sh";
      await world.apply(
        JSON.stringify({
          apiVersion: `${group}/v1alpha1`,
          kind: "KWOKNodeClass",
          metadata: { name: "default" },
        }),
      );
      await world.apply(pool("default", { group, kind: "KWOKNodeClass", name: "default" }));
      await world.apply(deployment("web", { pool: "default" }));
      await world.until("all pods run", async () => (await running(world, "web")) === 2);
      await world.scale("web", 0);
      const gone = async () => (await world.list("Node", "v1", "pool=default")).length === 0;
      await world.until("all nodes are gone", gone, 600_000);
    });
    expect(refused).toEqual([]);
    // Only AWS has kinds of v1alpha5, so their rights are not checked here.
    expect(
      unused
        .filter((one) => / kwoknodeclasses|nodes$/.test(one))
        .filter((one) => SELDOM[one] === undefined),
    ).toEqual([]);
  });

  it("allow a patch of Deployments only in the namespaces named for it", () => {
    const may = (namespaces: readonly string[], path: string, isOn = true): boolean => {
      const access = accessOf({ method: "PATCH", path: `/apis/apps/v1/${path}` });
      const rights = rightsOf("aws", { isOn, namespaces });
      return access !== undefined && coveredBy(access, rights, "karpenter") !== undefined;
    };
    const inShop = "namespaces/shop/deployments/web";
    expect(rightsOf("aws").flatMap(({ verbs }) => verbs)).not.toContain("*");
    expect([may([], inShop), may(["shop"], inShop), may(["*"], inShop)]).toEqual([
      false,
      true,
      true,
    ]);
    expect(may(["shop"], "namespaces/karpenter/deployments/web")).toBe(false);
    expect(may(["shop"], `${inShop}/scale`)).toBe(false);
    expect(may(["*"], inShop, false)).toBe(false);
  });

  it("are limited to their namespaces and names", () => {
    const may = (method: "GET" | "PUT" | "POST", path: string): boolean => {
      const access = accessOf({ method, path });
      return access === undefined || coveredBy(access, rightsOf("aws"), "karpenter") !== undefined;
    };
    expect(may("GET", "/apis")).toBe(true);
    expect(may("GET", "/api/v1/namespaces/karpenter/secrets/other")).toBe(false);
    expect(may("GET", "/api/v1/namespaces/karpenter/configmaps")).toBe(false);
    const named = "fieldSelector=metadata.name%3Dconfig-logging";
    expect(may("GET", `/api/v1/namespaces/karpenter/configmaps?${named}`)).toBe(true);
    expect(may("GET", `/api/v1/configmaps?${named}`)).toBe(false);
    expect(may("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases")).toBe(false);
    const lease = "/apis/coordination.k8s.io/v1/namespaces/karpenter/leases";
    expect(may("PUT", `${lease}/karpenter-leader-election`)).toBe(true);
    expect(may("PUT", `${lease}/another`)).toBe(false);
    expect(may("POST", "/api/v1/namespaces/default/pods/web-1/eviction")).toBe(true);
    expect(may("POST", "/api/v1/namespaces/default/pods")).toBe(false);
  });
});

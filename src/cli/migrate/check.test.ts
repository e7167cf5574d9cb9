/** The checks as a function of facts: one small cluster, and one change at a time. */
import { describe, expect, it } from "vitest";
import type { Deployment } from "../../apis/apps/kinds.ts";
import type { Crd } from "../../apis/core/custom-resource-definition.ts";
import type { Node } from "../../apis/core/node.ts";
import { toPool } from "../../apis/hub/to-pool.ts";
import type { NodePool } from "../../apis/karpenter/nodepool.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { CheckedItem } from "../checks/checks.ts";
import { exitCodeOf, printedChecks } from "../checks/checks.ts";
import { migrationChecks } from "./check.ts";
import type { MigrationFacts } from "./facts.ts";
import { ownFacts } from "./gather.ts";

const NOW = Date.UTC(2026, 0, 5, 8);
const OWN = ownFacts();
const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };

const POOL = {
  apiVersion: "karpenter.sh/v1",
  kind: "NodePool",
  metadata: { name: "default", uid: "p" },
  spec: { template: { spec: { nodeClassRef: CLASS_REF, requirements: [] } } },
} as unknown as NodePool;

const crd = (name: string, storedVersions: readonly string[]): Crd => {
  const [plural = "", ...group] = name.split(".");
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: { group: group.join("."), names: { plural }, versions: [{ name: "v1", served: true }] },
    status: { storedVersions },
  };
};

function claim(name: string, more: { annotations?: object; conditions?: object[] } = {}) {
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: {
      name,
      labels: { "karpenter.sh/nodepool": "default" },
      annotations: {
        "karpenter.sh/nodepool-hash": toPool(POOL).hash,
        "karpenter.sh/nodepool-hash-version": "v3",
        ...more.annotations,
      },
    },
    spec: { nodeClassRef: CLASS_REF, requirements: [] },
    status: {
      nodeName: `node-${name}`,
      conditions: more.conditions ?? [{ type: "Initialized", status: "True" }],
    },
  } as unknown as KubeObject;
}

const DEPLOYMENT = {
  metadata: { name: "karpenter", namespace: "kube-system" },
  spec: {
    replicas: 2,
    selector: {},
    template: {
      spec: {
        containers: [
          { image: "public.ecr.aws/karpenter/controller:1.15.0", env: [{ name: "CLUSTER_NAME" }] },
        ],
      },
    },
  },
} as unknown as Deployment;

const QUIET: MigrationFacts = {
  nowMs: NOW,
  crds: [crd("nodepools.karpenter.sh", ["v1"]), crd("nodeclaims.karpenter.sh", ["v1"])],
  objects: [POOL, claim("a")],
  nodes: [],
  deployments: [DEPLOYMENT],
  leases: [],
  webhooks: [],
  values: { settings: { clusterName: "demo", preset: "upstream-compatible" } },
  allowed: [
    "ec2:*",
    "iam:*",
    "sqs:*",
    "eks:DescribeCluster",
    "ssm:Get*",
    "pricing:*",
    "arc-zonal-shift:*",
  ],
  unread: [],
};

const checks = (change: Partial<MigrationFacts> = {}) =>
  migrationChecks({ ...QUIET, ...change }, OWN);
const found = (all: readonly CheckedItem[], area: string, item: string) =>
  all.find((one) => one.area === area && one.item === item);

describe("karpenter migrate check", () => {
  it("finds nothing to do in a settled cluster of v1, and exits with 0", () => {
    expect(checks().filter(({ state }) => state !== "ready")).toEqual([]);
    expect(exitCodeOf(checks())).toBe(0);
  });

  it("names the stored versions, and says that conversion must continue", () => {
    const all = checks({ crds: [crd("nodepools.karpenter.sh", ["v1beta1", "v1"])] });
    expect(found(all, "definitions", "nodepools.karpenter.sh")).toMatchObject({
      state: "differs",
      says: "stored as v1beta1, v1: some objects may be stored in an older version",
    });
  });

  it.each([
    ["a cluster that never stored v1", ["v1beta1"], {}, "differs"],
    ["values that turn the conversion off", ["v1beta1"], { webhook: { enabled: false } }, "todo"],
    [
      "a half-migrated cluster whose conversion is off",
      ["v1beta1", "v1"],
      { webhook: { enabled: false } },
      "todo",
    ],
    ["a version that this project's CRD does not have", ["v1alpha9", "v1"], {}, "todo"],
    ["v1 alone, without webhooks", ["v1"], { webhook: { enabled: false } }, "ready"],
  ])("looks at stored versions: %s", (_, stored, values, state) => {
    const all = checks({ crds: [crd("nodepools.karpenter.sh", stored)], values });
    expect(found(all, "definitions", "nodepools.karpenter.sh")?.state).toBe(state);
  });

  it("says that definitions are missing, and warns about one that is being deleted", () => {
    expect(found(checks({ crds: [] }), "definitions", "none")?.state).toBe("todo");
    const { metadata, ...rest } = crd("nodepools.karpenter.sh", ["v1"]);
    const going = { ...rest, metadata: { ...metadata, deletionTimestamp: "2026-01-05T08:00:00Z" } };
    expect(found(checks({ crds: [going] }), "definitions", "nodepools.karpenter.sh")?.state).toBe(
      "todo",
    );
  });

  it("names fields that this project's CRDs would drop, and no known fields", () => {
    const odd = { ...POOL, spec: { ...POOL.spec, flavour: "sweet" } };
    const all = checks({ objects: [odd] });
    expect(found(all, "objects", "NodePool default")).toMatchObject({
      state: "todo",
      says: "karpenter-ts does not know spec.flavour",
    });
    expect(exitCodeOf(all)).toBe(2);
  });

  it("tells a claim that would drift from a claim that has drifted, and ignores another hash version", () => {
    const objects = [
      POOL,
      claim("new", { annotations: { "karpenter.sh/nodepool-hash": "1" } }),
      claim("old", { conditions: [{ type: "Drifted", status: "True" }] }),
      claim("older", {
        annotations: {
          "karpenter.sh/nodepool-hash": "1",
          "karpenter.sh/nodepool-hash-version": "v2",
        },
      }),
    ];
    const all = checks({ objects });
    expect(found(all, "drift", "new")).toMatchObject({
      state: "drift",
      says: expect.stringMatching(
        /^The node would be replaced: NodePoolDrifted: the pool's template had the hash 1 when the claim was created, and has \d+ now$/,
      ),
    });
    expect(found(all, "drift", "pending")?.says).toContain("old");
    expect(found(all, "drift", "hash version")?.says).toMatch(
      /^1 claim of hash version v2, and not v\d, get the current hash, without drift: older$/,
    );
    expect(found(all, "drift", "claims")?.says).toBe("1 claim would stay as it is");
  });

  it("names the label and the requirement if a claim no longer satisfies its NodePool", () => {
    const requirements = [
      { key: "team", operator: "In", values: ["blue", "green"] },
      { key: "karpenter.sh/nodepool", operator: "Exists" },
      { key: "site", operator: "Exists" },
    ];
    const { template } = POOL.spec;
    const spec = {
      ...POOL.spec,
      template: { ...template, spec: { ...template.spec, requirements } },
    };
    const old = claim("old");
    const labels = { ...old.metadata.labels, team: "red" };
    const labelled = { ...old, metadata: { ...old.metadata, labels } };
    const all = checks({ objects: [{ ...POOL, spec } as NodePool, labelled] });
    expect(found(all, "drift", "old")?.says).toBe(
      "The node would be replaced: RequirementsDrifted: its label team is red, and the pool wants team In blue, green; it has no label, and the pool wants site Exists",
    );
  });

  it("says of a node that is drained only that it goes on, although its NodePool has changed since", () => {
    const stale = claim("going", { annotations: { "karpenter.sh/nodepool-hash": "1" } });
    const metadata = { ...stale.metadata, deletionTimestamp: "2026-01-05T07:59:00Z" };
    const all = checks({ objects: [POOL, { ...stale, metadata }, claim("stays")] });
    expect(found(all, "drift", "going")).toBeUndefined();
    expect(found(all, "under way", "draining")?.says).toContain("going");
    expect(found(all, "drift", "claims")?.says).toBe("1 claim would stay as it is");
    expect(exitCodeOf(all)).toBe(0);
  });

  it("names running work: launches, drains, and commands that only a process knows", () => {
    const leaving = claim("b");
    const objects = [
      POOL,
      claim("a", { conditions: [] }),
      { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: "2026-01-05T07:59:00Z" } },
      claim("c"),
    ];
    const tainted = (name: string) =>
      ({
        metadata: { name },
        spec: { taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] },
      }) as unknown as Node;
    const all = checks({ objects, nodes: [tainted("node-b"), tainted("node-c")] });
    expect(found(all, "under way", "launching")?.says).toContain("a");
    expect(found(all, "under way", "draining")?.says).toContain("b");
    expect(found(all, "under way", "commands")?.says).toContain("node-c");
    expect(found(all, "under way", "commands")?.says).not.toContain("node-b");
  });

  it("names the leader, and refuses two active controllers", () => {
    const lease = (renewTime: string) => ({
      metadata: { name: "karpenter-leader-election", namespace: "kube-system" },
      spec: { holderIdentity: "karpenter-abc_1", renewTime },
    });
    const item = "lease kube-system/karpenter-leader-election";
    expect(
      found(checks({ leases: [lease("2026-01-05T07:59:50.000000Z")] }), "controller", item)?.says,
    ).toBe("held by karpenter-abc_1");
    expect(
      found(checks({ leases: [lease("2026-01-05T07:59:00.000000Z")] }), "controller", item)?.says,
    ).toBe("free");
    expect(
      found(checks({ deployments: [DEPLOYMENT, DEPLOYMENT] }), "controller", "several")?.state,
    ).toBe("todo");
    const env = [{ name: "OBSERVE_ONLY", value: "true" }];
    const observer = {
      metadata: { name: "karpenter-observer", namespace: "kube-system" },
      spec: { selector: {}, template: { spec: { containers: [{ image: "karpenter-ts", env }] } } },
    } as unknown as Deployment;
    const beside = checks({ deployments: [DEPLOYMENT, observer] });
    expect(found(beside, "controller", "several")).toBeUndefined();
    expect(found(beside, "controller", "kube-system/karpenter-observer")?.says).toBe(
      "karpenter-ts, 1 replica, only observes",
    );
  });

  it("checks values as helm does, and settings as the program reads them", () => {
    const values = {
      controller: { image: { repository: "public.ecr.aws/karpenter/controller" } },
      settings: {
        aws: { clusterName: "demo", assumeRoleARN: "arn:aws:iam::1:role/k" },
        flavour: 1,
      },
    };
    const all = checks({ values });
    expect(found(all, "values", "settings.flavour")?.state).toBe("todo");
    expect(found(all, "values", "settings.aws.clusterName")?.says).toBe(
      "Older name: now settings.clusterName.",
    );
    expect(found(all, "values", "settings.aws.assumeRoleARN")?.state).toBe("todo");
    expect(found(all, "values", "controller.image")?.state).toBe("todo");
    expect(found(all, "settings", "preset")).toMatchObject({
      state: "differs",
      says: expect.stringContaining("is balanced, the default, and not upstream-compatible: "),
      remedy: expect.stringContaining("settings.preset=upstream-compatible"),
    });
    const imageOf = (image: object) =>
      found(checks({ values: { controller: { image } } }), "values", "controller.image");
    expect(imageOf({ repository: "mirror.example/karpenter/controller" })?.state).toBe("todo");
    expect(imageOf({ tag: "1.15.0" })?.state).toBe("todo");
    expect(imageOf({ repository: "registry.example/karpenter" })).toBeUndefined();
    const odd = structuredClone(DEPLOYMENT) as unknown as {
      spec: { template: { spec: { containers: { env: object[] }[] } } };
    };
    odd.spec.template.spec.containers[0]?.env.push({ name: "FLAVOUR" });
    expect(
      found(
        checks({ deployments: [odd as unknown as Deployment] }),
        "settings",
        "kube-system/karpenter",
      )?.says,
    ).toBe("karpenter-ts does not read FLAVOUR");
  });

  it("names values of a wrong type, choice or range, and the name that may be meant", () => {
    const values = {
      replicas: "two",
      settings: { clusterNme: "demo", preset: "frugl", batchMaxDuration: null },
      controller: { metrics: { port: 0 }, env: { A: "b" } },
      podDisruptionBudget: { maxUnavailable: "one" },
    };
    const said = checks({ values })
      .filter(({ area }) => area === "values")
      .map(({ item, state, says, remedy }) => `${item}: ${state}: ${says}; ${remedy}`);
    expect(said).toMatchSnapshot();
  });

  it("names each IAM action that no policy allows, and reads IAM's wildcards", () => {
    const allowed = OWN.needed.filter((one) => one !== "ec2:CreateFleet");
    const all = checks({ allowed });
    expect(all.filter(({ area }) => area === "IAM policy").map(({ item }) => item)).toEqual([
      "ec2:CreateFleet",
    ]);
    expect(
      found(checks({ allowed: [...allowed, "EC2:create*"] }), "IAM policy", "actions")?.state,
    ).toBe("ready");
    expect(exitCodeOf(all)).toBe(2);
  });

  it("says nothing of what could not be read, but that", () => {
    const kinds = ["customresourcedefinitions", "deployments"];
    const unread = kinds.map((what) => ({ what, why: "forbidden" }));
    const all = checks({ crds: [], objects: [], deployments: [], unread });
    expect(all.map(({ area, state }) => `${area}: ${state}`)).toEqual([
      "settings: ready",
      "values: ready",
      "IAM policy: ready",
      "reading: unknown",
      "reading: unknown",
    ]);
  });

  it("names what was not given or could not be read, and does not count it as ready", () => {
    const { values: _, allowed: __, ...rest } = QUIET;
    const unknownIn = (all: readonly CheckedItem[]) =>
      all.filter(({ state }) => state === "unknown").map(({ area }) => area);
    const unread = migrationChecks({ ...rest, unread: [{ what: "nodes", why: "forbidden" }] }, OWN);
    expect(unknownIn(unread)).toEqual(["values", "IAM policy", "reading"]);
    const said = String(printedChecks(unread, { output: "text", version: "1.0.0" }));
    expect(said).toContain("What to do:\n");
    expect(said.trimEnd().endsWith("\n1 item to see to.")).toBe(true);
    expect(exitCodeOf(unread)).toBe(2);
    // Files that were not given leave nothing to do.
    const all = migrationChecks(rest, OWN);
    expect(unknownIn(all)).toEqual(["values", "IAM policy"]);
    const text = String(printedChecks(all, { output: "text", version: "1.0.0" }));
    expect(text).toContain("Advice:\n  settings preset: set settings.preset");
    expect(text).not.toContain("What to do:");
    expect(text.trimEnd().endsWith("Nothing is to be done.")).toBe(true);
    expect(
      JSON.parse(String(printedChecks(all, { output: "json", version: "1.0.0" }))),
    ).toMatchObject({ version: "1.0.0", exitCode: 0 });
  });
});

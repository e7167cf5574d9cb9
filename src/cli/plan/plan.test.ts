import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pc from "picocolors";
import { describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { EVENT } from "../../apis/core/kinds.ts";
import type { TopologySpreadConstraint } from "../../apis/core/pod.ts";
import { toPool } from "../../apis/hub/to-pool.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { remedies } from "../../core/answers/fixes/remedy.ts";
import { solve } from "../../core/provisioning/solve.ts";
import { KubeError } from "../../kube/errors.ts";
import { poolManifest } from "../../testing/manifests.ts";
import { keepsToSchema, pageSchema } from "../../testing/page-schema.ts";
import { CliError } from "../program/cli-error.ts";
import { PLAIN_SCREEN, type Screen } from "../program/terminal.ts";
import { awsCatalogue, type Cloud } from "./aws-catalogue.ts";
import { objectsOf, readDocuments, readText } from "./documents.ts";
import { parseInstanceTypes } from "./instance-type-file.ts";
import { readCluster, timeOf } from "./live-cluster.ts";
import { sortManifests } from "./manifests.ts";
import { limitNotes, type Plan, passNotes, planOf, poolNotes } from "./plan.ts";
import { planText, unplacedGroups } from "./plan-text.ts";
import { planningInput } from "./planning-input.ts";
import { moreZonesIn, regionOf } from "./region.ts";
import { type PlanFlags, runPlan } from "./run-plan.ts";
import { parseSchedulerConfig } from "./scheduler-config.ts";
import { cloudOf, liveObjects } from "./sources.ts";

const TYPES = JSON.stringify(
  [2, 4, 8].map((cpu) => ({
    name: `m-${cpu}`,
    labels: { "kubernetes.io/arch": "amd64", "example.com/disk": ["ssd"] },
    capacity: { cpu: String(cpu), memory: `${4 * cpu}Gi`, pods: "20" },
    overhead: { cpu: "100m" },
    offerings: ["a", "b"].map((zone) => ({
      zone,
      capacityType: "on-demand",
      priceMicroUsdPerHour: cpu * 50_000,
    })),
  })),
);

const POOL = poolManifest({
  requirements: ["{key: karpenter.sh/capacity-type, operator: Exists}"],
});

function workload(kind: string, name: string, replicas: number, spec = "", cpu = "1"): string {
  return `
apiVersion: apps/v1
kind: ${kind}
metadata: {name: ${name}, namespace: shop}
spec:
  ${kind === "DaemonSet" ? "" : `replicas: ${replicas}`}
  ${kind === "StatefulSet" ? `serviceName: ${name}` : ""}
  ${spec}
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers: [{name: main, image: pause, resources: {requests: {cpu: "${cpu}"}}}]
`;
}

function fileCloud(): Cloud {
  const { instanceTypes, wellKnownLabels } = parseInstanceTypes("types.json", TYPES);
  return { wellKnownLabels, typesOf: async () => instanceTypes, notes: [] };
}

async function planFor(
  documents: readonly string[],
  options: {
    readonly cloud?: Cloud;
    readonly poolNames?: readonly string[];
    readonly defaultSpread?: readonly TopologySpreadConstraint[];
  } = {},
): Promise<{ plan: Plan; notes: readonly string[] }> {
  const manifests = sortManifests(objectsOf("app.yaml", documents.join("\n---\n")));
  const settings = {
    preferencePolicy: "Respect",
    minValuesPolicy: "Strict",
    poolNames: options.poolNames ?? [],
    defaultSpread: options.defaultSpread ?? [],
  } as const;
  const cloud = options.cloud ?? fileCloud();
  const { input, warnings, notes } = await planningInput(manifests, cloud, settings, 0);
  const result = solve(input);
  const found = { remedies: remedies(input, result) };
  const plan = planOf(result, input.pods.length, { parseMs: 0, solveMs: 0 }, found);
  return { plan, notes: [...warnings, ...notes, ...poolNotes(result, input)] };
}

describe("karpenter plan", () => {
  it("places every replica, and prints NodePool, types by price, pods, requests and the cheapest offering", async () => {
    const { plan } = await planFor([POOL, workload("Deployment", "web", 3)]);
    expect(plan.newNodeClaims).toHaveLength(1);
    expect(plan.newNodeClaims[0]).toMatchObject({
      nodePool: "default",
      instanceTypes: ["m-4", "m-8"],
      pods: ["shop/web-0", "shop/web-1", "shop/web-2"],
      requests: { cpu: "3", pods: "3" },
      cheapest: {
        instanceType: "m-4",
        zone: "a",
        capacityType: "on-demand",
        priceMicroUsdPerHour: 200_000,
      },
    });
    expect(plan.totals).toMatchObject({
      pods: 3,
      placed: 3,
      nodes: 1,
      priceMicroUsdPerHour: 200_000,
    });
  });

  it("says how many instance types were ruled out for a pod without a place, by reason", async () => {
    const { plan } = await planFor([POOL, workload("Deployment", "web", 1, "", "9")]);
    expect(plan.unschedulable).toHaveLength(1);
    expect(plan.unschedulable[0]).toMatchObject({
      pod: "shop/web-0",
      nodePools: [{ nodePool: "default", rejected: { resources: 3 } }],
    });
    expect(plan.unschedulable[0]?.reason).toContain("no instance type has enough resources");
    expect(planText(plan, [], { ...PLAIN_SCREEN, wide: true })).toContain(
      "  shop/web-0\n    default: no instance type has enough resources; instance types ruled out: 3 too small for its requests\n",
    );
  });

  it("leaves each node only the types within the limits, and says what the limits cost", async () => {
    const limited = POOL.replace("spec:\n", "spec:\n  limits: {cpu: 9}\n");
    const apart =
      "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}";
    const web = workload("Deployment", "web", 2).replace("      containers", `      ${apart}\n$&`);
    const { plan: held } = await planFor([limited, web]);
    expect(held.newNodeClaims.map(({ instanceTypes }) => instanceTypes)).toEqual([
      ["m-2", "m-4"],
      ["m-2", "m-4"],
    ]);
    expect(limitNotes(held)).toEqual([]);
    const { plan: small } = await planFor([
      limited.replace("cpu: 9", "cpu: 1"),
      workload("Deployment", "web", 2),
    ]);
    expect(small.unschedulable[0]?.nodePools[0]?.rejected).toEqual({ limits: 3 });
    expect(limitNotes(small)).toEqual([]);
  });

  it("names each NodePool that can launch nothing for any pod, even if another one places the pods", async () => {
    const other = (requirement: string) =>
      poolManifest({ requirements: [requirement] }).replace("{name: default}", "{name: other}");
    const noted = async (pool: string) => {
      const { plan, notes } = await planFor([POOL, pool, workload("Deployment", "web", 1)]);
      expect(plan.unschedulable).toEqual([]);
      return notes;
    };
    const reserved = "{key: karpenter.sh/capacity-type, operator: In, values: [reserved]}";
    expect(await noted(other(reserved))).toEqual([
      "nodepool/other: passed over, no instance type has karpenter.sh/capacity-type In [reserved] (there are on-demand)",
    ]);
    const type = "key: node.kubernetes.io/instance-type";
    expect(await noted(other(`{${type}, operator: In, values: [m-3]}`))).toEqual([
      "nodepool/other: passed over, no instance type has node.kubernetes.io/instance-type In [m-3] (there are m-2, m-4, m-8)",
    ]);
    expect(await noted(other(`{${type}, operator: In, values: [m-2]}`))).toEqual([]);
    expect(await noted(other(`{${type}, operator: Exists, minValues: 4}`))).toEqual([
      "nodepool/other: passed over, minValues of node.kubernetes.io/instance-type is 4, and its instance types have 3 values of it",
    ]);
  });

  it("reports equal replicas once, and a reason without a NodePool unchanged", async () => {
    const claims =
      "volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: gone, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]";
    const { plan } = await planFor([POOL, workload("StatefulSet", "db", 2, claims)]);
    expect(planText(plan, [], { ...PLAIN_SCREEN, wide: true })).toContain(
      "  shop/db-0, shop/db-1\n    failed to validate pvc, failed to get storage class (PersistentVolumeClaim=shop/data-db-0, StorageClass=gone)\n",
    );
  });

  it("matches the schema of the reference page, without unknown fields", async () => {
    const { plan } = await planFor([
      POOL,
      workload("Deployment", "web", 9),
      workload("Deployment", "big", 1, "", "9"),
      node("n1"),
    ]);
    expect(plan.existingNodes).not.toHaveLength(0);
    expect(plan.unschedulable[0]).toHaveProperty("fix.edits");
    keepsToSchema(pageSchema("plan"), plan, { totals: {} });
  });

  it("wraps reasons, fixes and notes at 100 columns, but not with -o wide", async () => {
    const { plan } = await planFor([POOL, workload("Deployment", "web", 1, "", "9")]);
    const note = "a note of many words ".repeat(9).trim();
    const lines = planText(plan, [note]).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    const reason =
      "    default: no instance type has enough resources; instance types ruled out: 3 too small for its";
    expect(lines.slice(lines.indexOf(reason), lines.indexOf(reason) + 2)).toEqual([
      reason,
      "      requests",
    ]);
    expect(planText(plan, [note], { ...PLAIN_SCREEN, wide: true })).toContain(`\nnote: ${note}\n`);
  });

  it("fits text into 100 columns, and shows the cost of each NodePool and of all", async () => {
    const long = "a-pool-with-a-very-long-name-that-somebody-has-chosen-once";
    const other = POOL.replace("name: default}\nspec:", `name: ${long}}\nspec:\n  weight: 1`);
    const pinned = (pool: string) =>
      workload("Deployment", `${pool.slice(0, 30)}-web`, 9).replace(
        "containers:",
        `nodeSelector: {karpenter.sh/nodepool: ${pool}}\n      containers:`,
      );
    const { plan } = await planFor([POOL, other, pinned("default"), pinned(long)]);
    const lines = planText(plan, []).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    const cost = lines.slice(lines.indexOf("Cost") + 1, lines.indexOf("Cost") + 5);
    expect(cost.map((line) => line.trim().split(/ +/))).toEqual([
      ["NODEPOOL", "NODES", "PODS", "$/HOUR", "$/MONTH"],
      [long, "2", "9", "$0.6000", "$438.00"],
      ["default", "2", "9", "$0.6000", "$438.00"],
      ["all", "4", "18", "$1.2000", "$876.00"],
    ]);
    expect(plan.totals.nodePools.map(({ nodePool }) => nodePool)).toEqual([long, "default"]);
    const wide = planText(plan, [], { ...PLAIN_SCREEN, wide: true });
    expect(wide).toMatch(/OR +REQUESTS OF EACH +PODS +WHICH\n/);
    expect(wide).toContain(long);
  });

  it("has one row for nodes that differ only in their number of possible types", async () => {
    const { plan } = await planFor([POOL, workload("Deployment", "web", 14)]);
    const [one, two] = plan.newNodeClaims;
    const differing = {
      ...plan,
      newNodeClaims: [one, { ...two, instanceTypes: ["m-8", "x", "y"] }],
    };
    const rows = (screen?: Screen) =>
      planText(differing as Plan, [], screen)
        .split("\n")
        .filter((line) => / x +default/.test(line));
    expect(rows()).toHaveLength(1);
    expect(rows({ ...PLAIN_SCREEN, wide: true })).toEqual([expect.stringContaining("0-2 others")]);
  });

  it("lists pods with the same cause once, although their whole reasons name different requests", async () => {
    const [small, large] = ["9", "12"].map((cpu) =>
      workload("Deployment", `web-${cpu}`, 1, "", cpu),
    );
    const { plan } = await planFor([POOL, small as string, large as string]);
    const reasons = plan.unschedulable.map(({ reason }) => reason);
    expect(new Set(reasons).size).toBe(2);
    const alike = plan.unschedulable.map(({ nearest: _, fix: __, ...one }) => one);
    expect(unplacedGroups(alike).map(({ pods }) => pods.length)).toEqual([2]);
  });

  it("has colours on a screen with colours, and the same text without them", async () => {
    const { plan } = await planFor([POOL, workload("Deployment", "web", 1, "", "9")]);
    const coloured = planText(plan, ["a note"], { ...PLAIN_SCREEN, paint: pc.createColors(true) });
    expect(coloured).toContain("\u001b[31mPods without a place");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what colours are made of
    expect(coloured.replace(/\u001b\[\d+m/g, "")).toBe(planText(plan, ["a note"]));
  });

  it("shows equal nodes in one row, with their number and total cost", async () => {
    const { plan } = await planFor([POOL, workload("Deployment", "web", 14)]);
    expect(planText(plan, ["a note"])).toMatchInlineSnapshot(`
      "Nodes to launch
        COUNT  NODEPOOL  CHEAPEST  ZONE  CAPACITY   $/HOUR   PODS  WHICH
        2 x    default   m-8       a     on-demand  $0.8000  14    shop/web-0, shop/web-1, shop/web-10, s…

      Cost
        NODEPOOL  NODES  PODS  $/HOUR   $/MONTH
        default   2      14    $0.8000  $584.00

      14 of 14 pods placed; 2 new nodes, $0.8000 an hour, $584.00 a month; planned in 0 ms
      note: a note
      "
    `);
  });
});

function node(name: string, spec = "{}"): string {
  return `
apiVersion: v1
kind: Node
metadata: {name: ${name}, labels: {kubernetes.io/hostname: ${name}, topology.kubernetes.io/zone: a}}
spec: ${spec}
status:
  capacity: {cpu: "2", memory: 8Gi, pods: "20"}
  allocatable: {cpu: "2", memory: 8Gi, pods: "20"}
  conditions: [{type: Ready, status: "True"}]
`;
}

function bound(name: string, nodeName: string, owner = ""): string {
  return `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop, labels: {app: web}${owner}}
spec:
  nodeName: ${nodeName}
  containers: [{name: main, image: pause, resources: {requests: {cpu: "1"}}}]
status: {phase: Running}
`;
}

describe("manifests in the input of a plan", () => {
  it("count bound pods on their node, and new pods fill only the free room", async () => {
    const { plan } = await planFor([
      POOL,
      node("n1"),
      bound("a", "n1"),
      workload("Deployment", "web", 2),
    ]);
    expect(plan.existingNodes).toEqual([{ node: "n1", pods: ["shop/web-0"] }]);
    expect(plan.newNodeClaims.flatMap(({ pods }) => pods)).toEqual(["shop/web-1"]);
  });

  it("get numbered names if the API server would generate the names", async () => {
    const job = `
apiVersion: batch/v1
kind: Job
metadata: {generateName: pi-}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: pause}]}}}
`;
    const { plan } = await planFor([POOL, job, job]);
    const placed = plan.newNodeClaims.flatMap(({ pods }) => pods);
    expect(placed).toEqual(["default/pi-0-0", "default/pi-1-0"]);
  });

  it("get numbers that other objects do not use, with or without an explicit default namespace", async () => {
    const job = (metadata: string) => `
apiVersion: batch/v1
kind: Job
metadata: {${metadata}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: pause}]}}}
`;
    const { plan } = await planFor([
      POOL,
      job("generateName: pi-"),
      job("generateName: pi-, namespace: default"),
      job("generateName: pi-1"),
      job("generateName: pi-, namespace: other"),
      job("name: pi-1"),
      job('name: pi-10, namespace: ""'),
    ]);
    const placed = plan.newNodeClaims.flatMap(({ pods }) => pods);
    expect(placed.toSorted()).toEqual([
      "default/pi-0-0",
      "default/pi-1-0",
      "default/pi-10-0",
      "default/pi-11-0",
      "default/pi-2-0",
      "other/pi-0-0",
    ]);
  });

  it("count pods of a Deployment's ReplicaSet as replicas of the Deployment", async () => {
    const own = (kind: string, name: string): string =>
      `, ownerReferences: [{apiVersion: apps/v1, kind: ${kind}, name: ${name}, uid: u, controller: true}]`;
    const replicaSet = workload("ReplicaSet", "web", 2)
      .replace("namespace: shop", `namespace: shop${own("Deployment", "web")}`)
      .replace("name: web,", "name: web-abc,");
    const { plan } = await planFor([
      POOL,
      node("n1"),
      workload("Deployment", "web", 2),
      replicaSet,
      bound("web-abc-x", "n1", own("ReplicaSet", "web-abc")),
    ]);
    expect(plan.totals.pods).toBe(1);
  });

  it("count DaemonSets as overhead of each new node, not as pods to place", async () => {
    const { plan } = await planFor([
      POOL,
      workload("Deployment", "web", 1),
      workload("DaemonSet", "agent", 0),
    ]);
    expect(plan.totals).toMatchObject({ pods: 1, nodes: 1 });
    expect(plan.newNodeClaims[0]?.requests).toMatchObject({ cpu: "2", pods: "2" });
    expect(plan.newNodeClaims[0]?.instanceTypes).toEqual(["m-4", "m-8"]);
  });

  it("include the volume claims of a StatefulSet, whose storage class ties pods to a zone", async () => {
    const storage = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: zonal}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [b]}]}]
`;
    const templates = `volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: zonal, resources: {requests: {storage: 1Gi}}}}]`;
    const { plan } = await planFor([POOL, storage, workload("StatefulSet", "db", 2, templates)]);
    expect(plan.totals.placed).toBe(2);
    expect(plan.newNodeClaims[0]?.cheapest.zone).toBe("b");
  });

  it("mean the same in older generations: a v1beta1 NodePool and a v1alpha5 Provisioner", async () => {
    const beta = POOL.replace("karpenter.sh/v1", "karpenter.sh/v1beta1").replace(
      "group: karpenter.k8s.aws",
      "apiVersion: karpenter.k8s.aws/v1beta1",
    );
    const alpha = `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: old}
spec:
  providerRef: {name: default}
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m-2]}]
`;
    const web = workload("Deployment", "web", 1);
    expect((await planFor([beta, web])).plan.newNodeClaims[0]?.nodePool).toBe("default");
    const { plan } = await planFor([beta, alpha, web], { poolNames: ["old"] });
    expect(plan.newNodeClaims[0]).toMatchObject({ nodePool: "old", instanceTypes: ["m-2"] });
  });

  it("that are not used are named in a note, and so are NodePools that are not used", async () => {
    const { notes } = await planFor([
      POOL.replace(
        "spec:",
        "status: {conditions: [{type: Ready, status: 'False', reason: Waiting, message: waiting, lastTransitionTime: '2026-01-01T00:00:00Z'}]}\nspec:",
      ),
      "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: x}",
    ]);
    expect(notes.join("\n")).toContain("nodepool/default: passed over");
    expect(notes.join("\n")).toContain("ServiceMonitor (1)");
  });
});

describe("a fix that a plan proposes", () => {
  const LIMITED = POOL.replace("template:", 'limits: {cpu: "8"}\n  template:');
  const ZONAL = POOL.replace(
    "operator: Exists}",
    "operator: Exists}, {key: topology.kubernetes.io/zone, operator: In, values: [a]}",
  );

  it("places the pods if a user makes it in the manifest", async () => {
    const web = workload("Deployment", "web", 3, "", "7");
    const { plan } = await planFor([LIMITED, web]);
    expect(plan.unschedulable.map(({ pod }) => pod)).toEqual(["shop/web-1", "shop/web-2"]);
    expect(plan.unschedulable[0]?.fix?.edits).toEqual([
      {
        object: "NodePool default",
        field: "spec.limits.cpu",
        action: "set",
        value: "24",
        from: "8",
      },
    ]);
    const { plan: after } = await planFor([LIMITED.replace('"8"', '"24"'), web]);
    expect(after.unschedulable).toEqual([]);

    const far = workload("Deployment", "far", 1).replace(
      "containers:",
      "nodeSelector: {topology.kubernetes.io/zone: b}\n      containers:",
    );
    const { plan: zonal } = await planFor([ZONAL, far]);
    expect(zonal.unschedulable[0]).toMatchObject({
      nearest: { nodePool: "default" },
      fix: {
        text: "let NodePool default use topology.kubernetes.io/zone b",
        edits: [
          {
            object: "NodePool default",
            field: "spec.template.spec.requirements",
            action: "add",
            value: "topology.kubernetes.io/zone=b",
          },
        ],
      },
    });
    const both = ZONAL.replace("values: [a]", "values: [a, b]");
    expect((await planFor([both, far])).plan.unschedulable).toEqual([]);
    expect(planText(zonal, [])).toContain("fix: let NodePool default use");
  });

  it("is shown only for the pods that it places, even if other pods fail for the same reason", async () => {
    const small = [
      node("n1"),
      workload("Deployment", "a", 1, "", "3"),
      workload("Deployment", "b", 1, "", "4"),
    ];
    const { plan } = await planFor(small);
    expect(new Set(plan.unschedulable.map(({ reason }) => reason)).size).toBe(1);
    expect(planText(plan, [])).toMatch(/shop\/a-0\n.*from 3 to 2\n {2}shop\/b-0\n.*from 4 to 2\n/s);
  });

  it.each([
    ["requirements: {}, wait: 5", /spec\.wait\b.*spec\.requirements: wanted a list/s],
    ["requirements: [{key: __proto__, operator: In, values: [a]}]", /__proto__/],
  ])(
    "is not proposed for an invalid Provisioner (%s), which is refused in words",
    async (spec, told) => {
      const provisioner = `apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: old}\nspec: {${spec}}`;
      await expect(planFor([provisioner])).rejects.toThrow(told);
    },
  );

  it("names the field of a Provisioner, if the NodePool is one", async () => {
    const provisioner =
      "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: old}\nspec: {providerRef: {name: old}, limits: {resources: {cpu: 1}}}";
    const { plan } = await planFor([provisioner, workload("Deployment", "web", 1)]);
    expect(plan.unschedulable[0]?.fix).toMatchObject({
      text: "raise spec.limits.resources.cpu of Provisioner old from 1 to 2",
      edits: [{ object: "Provisioner old", field: "spec.limits.resources.cpu" }],
    });
  });
});

describe("other kinds in the input of a plan", () => {
  it("LimitRanges add requests to containers of workloads and daemons", async () => {
    const range = `
apiVersion: v1
kind: LimitRange
metadata: {name: r, namespace: shop}
spec: {limits: [{type: Container, defaultRequest: {memory: 1Gi}}]}`;
    const documents = [POOL, workload("Deployment", "web", 1), workload("DaemonSet", "agent", 0)];
    const { plan } = await planFor([...documents, range]);
    expect(plan.newNodeClaims[0]?.requests).toMatchObject({ cpu: "2", memory: "2Gi" });
    expect((await planFor(documents)).plan.newNodeClaims[0]?.requests["memory"]).toBe(undefined);
  });

  it("NodeOverlays change prices, and a note names an overlay without effect", async () => {
    const overlay = (name: string, spec: string) => `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: ${name}}
spec: {requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m-8]}], ${spec}}`;
    const web = workload("Deployment", "web", 1);
    const cheap = overlay("cheap", 'price: "0.01"');
    const { plan, notes } = await planFor([POOL, web, cheap, overlay("also", 'price: "0.02"')]);
    expect(plan.newNodeClaims[0]?.cheapest).toMatchObject({
      instanceType: "m-8",
      priceMicroUsdPerHour: 10_000,
    });
    expect(notes.join()).toContain("NodeOverlay also has no effect: Conflict");
    expect(() => sortManifests(objectsOf("o.yaml", overlay("bad", "capacity: {cpu: 1}")))).toThrow(
      "o.yaml: NodeOverlay bad: spec.capacity: Invalid value",
    );
  });

  it("a default topology spread applies to pods that a Service or their workload selects", async () => {
    const defaultSpread = parseSchedulerConfig(
      "s.yaml",
      "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}",
    );
    const documents = [POOL, workload("Deployment", "web", 2)];
    expect((await planFor(documents)).plan.totals.nodes).toBe(1);
    const { plan } = await planFor(documents, { defaultSpread });
    expect(plan.newNodeClaims.map(({ cheapest }) => cheapest.zone).sort()).toEqual(["a", "b"]);
    expect(() => parseSchedulerConfig("s.yaml", "podTopologySpread: {defaults: []}")).toThrow(
      "s.yaml: podTopologySpread.defaults: unknown field",
    );
  });

  it("pods with a nominated node are left out", async () => {
    const pod = `
apiVersion: v1
kind: Pod
metadata: {name: waiting, namespace: shop}
spec: {containers: [{name: main, image: x}]}
status: {nominatedNodeName: n1}`;
    const { plan, notes } = await planFor([POOL, pod]);
    expect(plan.totals.pods).toBe(0);
    expect(notes.join()).toContain("the scheduler has nominated a node: shop/waiting");
  });

  it("pods of a leaving node are planned again, except ended pods and pods that must not be moved", async () => {
    const going = `
apiVersion: v1
kind: Node
metadata:
  name: n1
  deletionTimestamp: "2026-01-01T00:00:00Z"
  finalizers: [karpenter.sh/termination]
  labels: {karpenter.sh/nodepool: default}
spec: {providerID: "x:///n1"}
status: {capacity: {cpu: "8", memory: 8Gi, pods: "20"}, allocatable: {cpu: "8", memory: 8Gi, pods: "20"}}`;
    const on = (name: string, metadata = "", phase = "Running", nodeName = "nodeName: n1, ") => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop${metadata}}
spec: {${nodeName}containers: [{name: main, image: x}]}
status: {phase: ${phase}}`;
    const budget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: none, namespace: shop}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: guarded}}}`;
    // A pod of a StatefulSet that is being deleted will be created again, even if something protects it.
    const goes = `deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 30, ownerReferences:
  [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]`;
    const { plan } = await planFor([
      POOL,
      going,
      budget,
      on("moves"),
      on("asks-not-to", ', annotations: {karpenter.sh/do-not-disrupt: "true"}'),
      on("guarded", ", labels: {app: guarded}"),
      on("guarded-goes", `, labels: {app: guarded}, ${goes}`),
      on("ended", "", "Succeeded"),
      on("never-bound", "", "Failed", ""),
    ]);
    const placed = plan.newNodeClaims.flatMap(({ pods }) => pods).toSorted();
    expect(placed).toEqual(["shop/guarded-goes", "shop/moves"]);
    expect(plan.totals.pods).toBe(2);
  });
});

it("a note says how many pods of StatefulSets were planned at once", () => {
  const played = { result: {} as never, passes: 1, isSettled: true };
  expect(passNotes(played)).toEqual([]);
  expect(passNotes({ ...played, createdAtOnce: 117 })).toEqual([
    expect.stringMatching(/^117 pods of StatefulSets were planned at once, /),
  ]);
});

describe("a plan for a live cluster", () => {
  const forbidden = new KubeError(403, { reason: "Forbidden", message: "no" }, "list");
  const missing = new KubeError(404, { reason: "NotFound", message: "none" }, "list");
  const serving = (objects: Record<string, unknown[]>, refused: Record<string, Error> = {}) => ({
    list: async (kind: Kind) => {
      const error = refused[kind.plural];
      if (error !== undefined) throw error;
      const items = objects[`${kind.plural} ${kind.version}`];
      if (items === undefined && kind.group.startsWith("karpenter")) throw missing;
      return { items: items ?? [], resourceVersion: "1" };
    },
  });

  it("reads each kind, also in older versions, without validating the objects", async () => {
    const pool = parse(POOL.replace("v1\n", "v1beta1\n")) as KubeObject;
    const pods = [
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p", namespace: "shop" },
        spec: { containers: [], strange: true },
      },
    ];
    const older = { "nodeclaims v1beta1": [], "ec2nodeclasses v1beta1": [] };
    const client = serving({ "nodepools v1beta1": [pool], "pods v1": pods, ...older });
    const { found, notes } = await readCluster(client as never);
    expect(notes).toEqual([]);
    const manifests = sortManifests(found);
    expect(manifests.pools[0]?.apiVersion).toBe("karpenter.sh/v1");
    expect(manifests.pods.map(({ metadata }) => metadata.name)).toEqual(["p"]);
  });

  it("applies the given files over the objects of the cluster", async () => {
    const client = serving({ "nodepools v1": [parse(POOL)] });
    const { found } = await readCluster(client as never);
    const limited = POOL.replace("template:", "limits: {cpu: 1}\n  template:");
    const { pools } = sortManifests([...found, ...objectsOf("app.yaml", limited)]);
    expect(pools.map(({ spec }) => spec?.limits)).toEqual([{ cpu: 1 }]);
  });

  it("uses the time of the cluster's clock, if the server tells it", async () => {
    const date = "Thu, 01 Jan 2026 06:00:00 GMT";
    const telling = (headers: object) => ({ raw: async () => ({ status: 200, headers }) });
    expect(await timeOf(telling({ date }) as never)).toBe(Date.UTC(2026, 0, 1, 6));
    expect(await timeOf(telling({}) as never)).toBeUndefined();
    const refusing = { raw: () => Promise.reject(forbidden) };
    expect(await timeOf(refusing as never)).toBeUndefined();
  });

  it("says which kind of Karpenter the API server does not serve, and how to install it", async () => {
    const notesOf = async (objects: Record<string, unknown[]>) =>
      (await readCluster(serving(objects) as never)).notes.map((one) => one.split(",")[0]);
    const unserved = (kind: string, resource: string) =>
      `the API server does not serve ${kind} (${resource})`;
    const claims = { "nodeclaims v1": [] };
    expect((await readCluster(serving(claims) as never)).notes).toEqual([
      "the API server does not serve NodePool (nodepools.karpenter.sh), so no node can be launched; install the definitions, then apply the objects again: helm upgrade --install karpenter-crd deploy/charts/karpenter-crd --namespace karpenter --create-namespace",
    ]);
    expect(await notesOf({ "nodepools v1": [parse(POOL)] })).toEqual([
      unserved("EC2NodeClass", "ec2nodeclasses.karpenter.k8s.aws"),
      unserved("NodeClaim", "nodeclaims.karpenter.sh"),
    ]);
    // A cluster of an older Karpenter has other kinds.
    const provisioner = { apiVersion: "karpenter.sh/v1alpha5", kind: "Provisioner", metadata: {} };
    expect(await notesOf({ "provisioners v1alpha5": [provisioner] })).toEqual([]);
  });

  it("reads only the events that answers use, because a large cluster has too many", async () => {
    const asked: (string | undefined)[] = [];
    const { list } = serving({});
    const client = {
      list: (kind: Kind, options?: { fieldSelector?: string }) => {
        if (kind === EVENT) asked.push(options?.fieldSelector);
        return list(kind);
      },
    };
    await readCluster(client as never, [EVENT as Kind]);
    const reasons = ["Nominated", "PlannedNodeLost", "EndHeld", "DriftUnproven"];
    expect(asked).toEqual(reasons.map((reason) => `reason=${reason}`));
  });

  it("leaves out kinds that may not be read, except pods", async () => {
    const served = { "nodepools v1": [], "nodeclaims v1": [] };
    const { notes } = await readCluster(serving(served, { limitranges: forbidden }) as never);
    expect(notes).toEqual(["left out, as reading them is forbidden: limitranges"]);
    await expect(readCluster(serving({}, { pods: forbidden }) as never)).rejects.toThrow(
      "--cluster: pods cannot be read",
    );
  });

  it.each([
    [
      "",
      /^--cluster: the API server does not answer: connect ECONNREFUSED 127.0.0.1:1; check the cluster, or/,
    ],
    [
      "tokenFile: nowhere",
      /^--cluster: no credentials for the cluster: cannot read .*nowhere: ENOENT; mend its user/,
    ],
    [
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin, interactiveMode: Never}",
      /^--cluster: no credentials for the cluster: credential plugin no-such-plugin: .*; mend its user/,
    ],
  ])("fails with one sentence if the cluster does not answer: {%s}", async (user, sentence) => {
    const folder = mkdtempSync(join(tmpdir(), "plan-"));
    const path = join(folder, "config");
    writeFileSync(
      path,
      `current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {${user}}}]`,
    );
    vi.stubEnv("KUBECONFIG", path);
    try {
      const asked = liveObjects(new SystemClock());
      await expect(asked).rejects.toBeInstanceOf(CliError);
      await expect(asked).rejects.toThrow(sentence);
    } finally {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
    }
  });
});

describe("the exit code of karpenter plan", () => {
  async function run(
    documents: readonly string[],
    output: PlanFlags["output"] = "json",
    more: Partial<PlanFlags> = {},
  ) {
    const folder = mkdtempSync(join(tmpdir(), "karpenter-plan-"));
    let text = "";
    const streams = { out: (part: string) => (text += part), err: () => undefined };
    const told: string[] = [];
    const progress = { stage: (stage: string) => told.push(stage), end: () => told.push("end") };
    try {
      const [app, types] = [join(folder, "app.yaml"), join(folder, "types.json")];
      writeFileSync(app, documents.join("\n---\n"));
      writeFileSync(types, TYPES);
      const flags: PlanFlags = {
        filename: [app],
        instanceTypes: types,
        preferencePolicy: "Respect",
        minValuesPolicy: "Strict",
        planner: "greedy",
        plannerEffort: 1,
        plannerNodeCost: 0,
        plannerMinSaving: 0,
        plannerMinPods: 0,
        output,
        fix: true,
        ...more,
      };
      return { code: await runPlan(flags, streams, progress), text, told };
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it("names the ResourceClaimTemplate that files lack, and no setting of a controller", async () => {
    const claims = `
kind: Pod
apiVersion: v1
metadata: {name: gpu}
spec:
  containers: [{name: main, image: pause, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]`;
    const { text } = await run([POOL, claims]);
    expect(text).toContain("one-gpu");
    expect(text).not.toContain("enableDRA in the chart (");
    const byWorkload = workload("Deployment", "web", 1).replace(
      "      containers:",
      "      resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]\n      containers:",
    );
    expect((await run([POOL, byWorkload])).text).toContain("one-gpu");
  });

  it("notes that NodeOverlays need a feature gate of the controller", async () => {
    const overlay = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: cheap}
spec: {requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m-8]}], price: "0.01"}`;
    const note = "note: NodeOverlays count in this plan";
    const web = workload("Deployment", "web", 1);
    expect((await run([POOL, web, overlay], "text")).text).toContain(note);
    expect((await run([POOL, web], "text")).text).not.toContain(note);
  });

  it("is 0 if all pods are placed and 2 if not, in each output format", async () => {
    const good = await run([POOL, workload("Deployment", "web", 1)]);
    expect(good.code).toBe(0);
    expect(JSON.parse(good.text)).toMatchObject({ totals: { pods: 1, placed: 1, nodes: 1 } });
    // Pods of nine cores. The largest type has the lowest price for a core.
    const many = [POOL, workload("Deployment", "web", 9)];
    const bounded = JSON.parse((await run(many, "json", { lowerBound: true })).text) as Plan;
    expect(bounded.totals.lowerBoundMicroUsdPerHour).toBe(Math.ceil((9 / 7.9) * 400_000));
    expect(bounded.totals.priceMicroUsdPerHour).toBeGreaterThan(455_000);
    const bad = await run([POOL, workload("Deployment", "web", 1, "", "9")], "yaml");
    expect(bad.code).toBe(2);
    expect((parse(bad.text) as Plan).unschedulable[0]?.fix?.text).toContain(
      "lower the cpu request of container main from 9 to 7900m",
    );
    const text = await run([POOL, workload("Deployment", "web", 1, "", "9")], "text");
    expect(text).toMatchObject({ code: 2 });
    expect(text.text).toContain("nearest: m-8 of default: cpu: 9 asked for, 7900m there");
  });

  it("is 3 if no pod needs a place, with a note that says so", async () => {
    for (const documents of [[POOL], [""], [POOL, workload("Deployment", "web", 0)]]) {
      const none = await run(documents, "text");
      expect(none.code).toBe(3);
      expect(none.text).toMatch(/^Nothing to plan: /);
    }
    expect((await run([""], "text")).text).toContain("note: the input has no objects");
    const idle = (await run([POOL, workload("Deployment", "web", 0)], "text")).text;
    expect(idle).toContain(
      "note: Deployment shop/web has 0 replicas; set spec.replicas to plan its pods",
    );
    expect(idle.split("no pod in the input needs a place")).toHaveLength(2);
    const both = [POOL, workload("Deployment", "web", 0), workload("StatefulSet", "db", 0)];
    expect((await run(both, "text")).text).toContain(
      "note: Deployment shop/web and 1 more workload have 0 replicas",
    );
  });

  it("is 2 for a StatefulSet whose StorageClass is missing, with a fix", async () => {
    const named = (text: string) =>
      workload(
        "StatefulSet",
        "db",
        1,
        `volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], ${text} resources: {requests: {storage: 1Gi}}}}]`,
      );
    const missing = await run([POOL, named("storageClassName: gp3,")], "text");
    expect(missing.code).toBe(2);
    expect(missing.text).toMatch(/fix: create StorageClass gp3$/m);
    const none = await run([POOL, named("")]);
    expect(none.code).toBe(2);
    const { unschedulable } = JSON.parse(none.text) as Plan;
    expect(unschedulable[0]?.fix?.edits).toEqual([
      {
        object: "StatefulSet shop/db",
        field: "spec.volumeClaimTemplates[data].spec.storageClassName",
        action: "set",
        value: "NAME",
        from: "",
      },
    ]);
    const early = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: ebs.csi.aws.com`;
    // A claim of a cluster: its volume should be bound already, so Karpenter leaves its pod out.
    const unbound = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0, namespace: shop, uid: u}
spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 1Gi}}}`;
    const immediate = await run([POOL, early, unbound, named("storageClassName: gp3,")], "text");
    expect(immediate.code).toBe(2);
    expect(immediate.text).toContain("fix: set volumeBindingMode of StorageClass gp3");
    const mended = early.replace(
      "provisioner",
      "volumeBindingMode: WaitForFirstConsumer\nprovisioner",
    );
    expect((await run([POOL, mended, named("storageClassName: gp3,")])).code).toBe(0);
    const slip = await run([POOL, mended, named("storageClassName: gp-3,")], "text");
    expect(slip.text).toContain("fix: did you mean StorageClass gp3? Or create StorageClass gp-3");
    const quiet = await run([POOL, named("")], "json", { fix: false });
    expect((JSON.parse(quiet.text) as Plan).unschedulable[0]).not.toHaveProperty("fix");
  });

  it("is 0 for a new claim that is bound at once, and a note says that its zone is not known yet", async () => {
    const db = workload(
      "StatefulSet",
      "db",
      2,
      `podManagementPolicy: Parallel
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: early, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]`,
    );
    const early = (provisioner: string, zone = "b") => `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: early}
provisioner: ${provisioner}
volumeBindingMode: Immediate
allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [${zone}]}]}]`;
    const { code, text } = await run([POOL, early("ebs.csi.aws.com"), db], "text");
    expect(code).toBe(0);
    expect(text).toMatch(/^ {2}1 x +\S+ +\S+ +b +/m);
    expect(text.replaceAll(/\n {2}/g, " ")).toContain(
      "note: StorageClass early binds volumes at once (Immediate), in a zone that its provisioner chooses; the plan takes any zone that the class allows for shop/data-db-0 and 1 more claim",
    );
    // Volumes of this class are made by hand, so nothing binds the claim.
    expect((await run([POOL, early("kubernetes.io/no-provisioner"), db])).code).toBe(2);
  });

  it("is 2 for a volume in a zone that nothing has, and the fix names the object and the zone", async () => {
    const db = workload(
      "StatefulSet",
      "db",
      1,
      `volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]`,
    );
    const allowed = (...zones: string[]) => `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [${zones.map((zone) => `{matchLabelExpressions: [{key: topology.ebs.csi.aws.com/zone, values: [${zone}]}]}`).join()}]`;
    const nowhere = await run([POOL, allowed("x", "z"), db]);
    expect(nowhere.code).toBe(2);
    const [found] = (JSON.parse(nowhere.text) as Plan).unschedulable;
    expect(found?.fix).toEqual({
      text: "set allowedTopologies of StorageClass fast to a value that exists, such as a: it allows only topology.kubernetes.io/zone x, which no instance type and no node has",
      edits: [
        {
          object: "StorageClass fast",
          field: "allowedTopologies[topology.kubernetes.io/zone]",
          action: "set",
          value: "a",
          from: "x",
        },
      ],
    });
    expect((await run([POOL, allowed("z", "a"), db])).code).toBe(0);
    const bound = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0, namespace: shop}
spec: {volumeName: disk, storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`;
    const there = await run([POOL, bound, allowed("a"), db], "text");
    expect(there.text.replaceAll(/\s+/g, " ")).toContain(
      "fix: restore PersistentVolume disk in a place that exists, such as a, or give the node class a subnet there: the volume is at topology.kubernetes.io/zone z, which no instance type and no node has",
    );
  });

  it("comes after the progress line is removed, also for bad input", async () => {
    const good = await run([POOL, workload("Deployment", "web", 2)]);
    expect(good.told).toEqual([
      "reading manifests",
      "checking 2 objects",
      "working out what can be launched",
      "planning 2 pods",
      "end",
    ]);
    const bad = await run([POOL, workload("Deployment", "web", 1, "", "9")]);
    expect(bad.told.slice(-3)).toEqual([
      "planning 1 pod",
      "looking for what would place the pods that are left",
      "end",
    ]);
    const none = await run([POOL]);
    expect(none.told.slice(1)).toEqual([
      "checking 1 object",
      "working out what can be launched",
      "planning 0 pods",
      "end",
    ]);
    const seen: string[] = [];
    const watched = { stage: (stage: string) => seen.push(stage), end: () => seen.push("end") };
    const flags = {
      filename: ["/nowhere.yaml"],
      output: "text",
      fix: true,
    } as unknown as PlanFlags;
    const quiet = { out: () => undefined, err: () => undefined };
    await expect(runPlan(flags, quiet as never, watched)).rejects.toBeInstanceOf(CliError);
    expect(seen).toEqual(["reading manifests", "end"]);
  });

  it("is 1 for bad input, and the error names file, document and field", async () => {
    const negative = workload("Deployment", "web", -1);
    const failed = run([POOL, negative]);
    await expect(failed).rejects.toBeInstanceOf(CliError);
    await expect(failed).rejects.toThrow(/app\.yaml, document 2: Deployment web: spec\.replicas: /);
  });
});

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof CliError) return error.problems;
    throw error;
  }
  return [];
}

describe("bad input of karpenter plan", () => {
  const refused = (text: string) => () => sortManifests(objectsOf("app.yaml", text));

  it("is named by file, document and field", () => {
    const negative = workload("Deployment", "web", -1);
    expect(refused(`${POOL}\n---\n${negative}`)).toThrow(
      "app.yaml, document 2: Deployment web: spec.replicas: Invalid value: -1",
    );
    expect(refused(POOL.replace("requirements:", "requirments:"))).toThrow(
      "app.yaml: NodePool default: spec.template.spec.requirments: unknown field",
    );
    expect(refused("kind: Pod\nmetadata: {}")).toThrow("app.yaml: apiVersion: missing");
    expect(refused("a: [1")).toThrow("app.yaml, document 1: ");
    expect(refused("a: *b")).toThrow(
      "app.yaml, document 1: not valid YAML: line 1, column 5: unidentified alias",
    );
    const pod = (rest: string) => `apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {${rest}}`;
    expect(
      refused(pod("containers: [{name: c, image: x, resources: {requests: {cpu: one}}}]")),
    ).toThrow(
      'Pod p: spec.containers[0].resources.requests.cpu: wanted a quantity such as "2", "500m" or "8Gi", got "one"',
    );
    expect(refused(pod("nodeSelector: {disk: 1}"))).toThrow(
      "Pod p: spec.nodeSelector.disk: wanted a string, got 1; put it in quotes",
    );
    expect(refused(pod("containers: none"))).toThrow('wanted a list, got "none"');
    expect(refused(pod("priority: high"))).toThrow('wanted a whole number, got "high"');
    expect(refused(POOL.replace("name: default", "name: on"))).toThrow(
      "app.yaml: NodePool: metadata.name: wanted a string, got true; put it in quotes",
    );
    expect(refused(POOL.replace("karpenter.sh/v1", "karpenter.sh/v2"))).toThrow(
      'apiVersion: "karpenter.sh/v2" of NodePool is not served; use karpenter.sh/v1 or karpenter.sh/v1beta1',
    );
    expect(refused(`${POOL}\n---\n${POOL}`)).toThrow(
      "app.yaml, document 2: NodePool default is also in app.yaml, document 1",
    );
  });

  it("is reported completely: every field of every document, with a suggestion", () => {
    const text = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  consolidationPolicy: WhenEmpty
  disruption: {consolidateAfter: 14d, consolidatAfter: 1m}
  template:
    spec:
      expireAfter: 2 weeks
      nodeClassReff: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.k8s.aws/instance-categry, operator: In, values: [c]}]
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app.kubernetes.io/name: 1}}
spec:
  nodeSelectr: {a: b}
  containers: [{name: c, imge: x, tty: "yes", stdin: 3}]
---
${POOL.replace("key: karpenter.sh/capacity-type", "key: karpenter.k8s.aws/instance-categry")}`;
    const problems = problemsOf(() => sortManifests(objectsOf("app.yaml", text)));
    const inDays = "a duration has no days; write 336h (24 hours to the day)";
    const inWeeks = "a duration has no weeks; write 336h (168 hours to the week)";
    expect(problems).toEqual([
      ...[
        "spec.consolidationPolicy: unknown field; it belongs to spec.disruption.consolidationPolicy",
        "spec.disruption.consolidatAfter: unknown field; did you mean consolidateAfter?",
        "spec.template.spec.nodeClassReff: unknown field; did you mean nodeClassRef?",
        `spec.disruption.consolidateAfter: "14d": ${inDays}`,
        `spec.template.spec.expireAfter: "2 weeks": ${inWeeks}`,
        "spec.template.spec.nodeClassRef: Required value",
      ].map((one) => `app.yaml, document 1: NodePool default: ${one}`),
      ...[
        "metadata.labels.app.kubernetes.io/name: wanted a string, got 1; put it in quotes",
        'spec.containers[0].tty: wanted true or false, got "yes"',
        "spec.containers[0].stdin: wanted true or false, got 3",
        "spec.nodeSelectr: unknown field; did you mean nodeSelector?",
        "spec.containers[0].imge: unknown field; did you mean image?",
        "spec.containers[0].image: Required value",
      ].map((one) => `app.yaml, document 2: Pod p: ${one}`),
      'app.yaml, document 3: NodePool default: spec.template.spec.requirements[0].key: Invalid value: "karpenter.k8s.aws/instance-categry": label domain "karpenter.k8s.aws" is restricted; did you mean karpenter.k8s.aws/instance-category?',
    ]);
  });

  it("with a core label that a NodePool must not have: the error suggests the intended label", () => {
    const text = POOL.replace("key: karpenter.sh/capacity-type", "key: karpenter.sh/capcity-type");
    expect(problemsOf(() => sortManifests(objectsOf("app.yaml", text)))).toEqual([
      expect.stringMatching(
        /"karpenter\.sh" is restricted; did you mean karpenter\.sh\/capacity-type\?$/,
      ),
    ]);
  });

  it("with an unknown resource name of a container: the error suggests the intended one", () => {
    const told = (resource: string) => {
      const text = workload("Deployment", "web", 1).replace("{cpu:", `{${resource}: 1Gi, cpu:`);
      return problemsOf(() => sortManifests(objectsOf("app.yaml", text))).join("\n");
    };
    expect(told("memry")).toMatch(/standard resource for containers; did you mean memory\?$/m);
    expect(told("ephemeral-storag")).toContain("; did you mean ephemeral-storage?");
    expect(told("gpu")).toContain("; did you mean nvidia.com/gpu?");
    expect(told("disk")).not.toContain("did you mean");
  });

  it("with a label that no NodePool has: the reason suggests the intended label", async () => {
    const typo = workload("Deployment", "web", 1).replace(
      "containers:",
      "nodeSelector: {topology.kubernetes.io/zoen: a}\n      containers:",
    );
    const { plan } = await planFor([POOL, typo]);
    expect(plan.unschedulable[0]?.reason).toContain('(typo of "topology.kubernetes.io/zone"?)');
    expect(plan.unschedulable[0]?.fix).toMatchObject({
      text: "write topology.kubernetes.io/zone for topology.kubernetes.io/zoen in the pod's node selector and required node affinity",
      edits: [{ action: "set", from: "topology.kubernetes.io/zoen" }],
    });
  });

  it("with a label that is nearly a well-known one: a note suggests the well-known label", async () => {
    const requiring = (key: string) =>
      POOL.replace(
        "{key: karpenter.sh/capacity-type, operator: Exists}",
        `{key: ${key}, operator: In, values: [x]}`,
      );
    const noted = async (key: string) =>
      (await planFor([requiring(key), workload("Deployment", "web", 1)])).notes.join("\n");
    expect(await noted("kubernetes.io/archs")).toContain(
      "NodePool default: its requirement kubernetes.io/archs is a label that no instance type has; did you mean kubernetes.io/arch?",
    );
    expect(await noted("topology.kubernets.io/zone")).toContain(
      "did you mean topology.kubernetes.io/zone?",
    );
    expect(await noted("kubernetes.io/role")).not.toContain("did you mean");
    expect(await noted("example.com/zone")).not.toContain("did you mean");
  });

  it("with more than twenty errors: twenty are listed", () => {
    const many = Array.from({ length: 30 }, () => POOL.replace("spec:", "spec:\n  wieght: 1"));
    const problems = problemsOf(() => sortManifests(objectsOf("app.yaml", many.join("\n---\n"))));
    expect(problems).toHaveLength(21);
    expect(problems[0]).toContain("spec.wieght: unknown field; did you mean weight?");
    expect(problems[20]).toBe("and 10 more problems");
  });

  it("that is an unreadable file: the error is one sentence", () => {
    expect(() => readDocuments(["/no/such.yaml"])).toThrow(
      /^\/no\/such.yaml: no such file or folder$/,
    );
    expect(() => readText("/no/types.json")).toThrow(/^\/no\/types.json: no such file$/);
    expect(() => readText(tmpdir())).toThrow(/: it is a folder, not a file$/);
  });

  it("names one of our kinds with a wrong group, letter case, plural or typo; kinds of other groups are ignored", () => {
    const head = (apiVersion: string, kind: string) =>
      `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: x}`;
    const slips = [
      ["apps/v1", "Pod", 'apiVersion: "apps/v1" of Pod is not served; use v1'],
      ["extensions/v1beta1", "Deployment", 'apiVersion: "extensions/v1beta1" of Deployment is not'],
      [
        "x/apps/v1",
        "Deployment",
        'apiVersion: "x/apps/v1" of Deployment is not served; use apps/v1',
      ],
      ["karpenter.k8s.aws/v1", "NodePool", "use karpenter.sh/v1 or karpenter.sh/v1beta1"],
      ["karpenter.io/v1", "NodePool", "use karpenter.sh/v1 or karpenter.sh/v1beta1"],
      ["karpenter.sh/v1", "Provisioner", "use karpenter.sh/v1alpha5"],
      ["v1", "pod", 'kind: "pod" is not served; use Pod'],
      ["apps/v1", "deployments", 'kind: "deployments" is not served; use Deployment'],
      ["karpenter.sh/v1", "Nodepool", 'kind: "Nodepool" is not served; use NodePool'],
      ["v1", "Deployments", 'kind: "Deployments" of v1 is not served; use Deployment of apps/v1'],
      ["apps/v1", "Deploymnt", 'kind: "Deploymnt" is not served; use Deployment'],
      ["v1", "Pdo", 'kind: "Pdo" is not served; use Pod'],
      ["karpenter.sh/v1", "NodePoll", 'kind: "NodePoll" is not served; use NodePool'],
      ["apps/v1", "Statefulstes", 'kind: "Statefulstes" is not served; use StatefulSet'],
    ];
    for (const [apiVersion = "", kind = "", told = ""] of slips) {
      const slipped = refused(`${POOL}\n---\n${head(apiVersion, kind)}`);
      expect(slipped).toThrow(told);
      expect(slipped).toThrow("app.yaml, document 2: ");
    }
    expect(refused("apiVersion: v1\nkind: list\nitems: []")).toThrow(
      'app.yaml: kind: "list" is not served; use List',
    );
    const others = [
      ["serving.knative.dev/v1", "Service"],
      ["cluster.x-k8s.io/v1beta1", "Machine"],
      ["batch.volcano.sh/v1alpha1", "Job"],
      ["apps.kruise.io/v1beta1", "StatefulSet"],
      ["metrics.k8s.io/v1beta1", "PodMetrics"],
      ["v1", "Binding"],
      ["metrics.k8s.io/v1beta1", "NodeMetrics"],
      ["snapshot.storage.k8s.io/v1", "VolumeSnapshotClass"],
      ["serving.knative.dev/v1", "Servce"],
    ];
    const texts = others.map(([apiVersion = "", kind = ""]) => head(apiVersion, kind));
    const { unused } = sortManifests(objectsOf("app.yaml", texts.join("\n---\n")));
    expect([...unused.keys()]).toEqual(others.map(([, kind]) => kind));
  });

  it("has a NodePool that Karpenter's validation refuses; such a NodePool of a live cluster is left out", async () => {
    const taint = "{key: a, effect: NoSchedule}";
    const strange = POOL.replace(
      "requirements:",
      `taints: [${taint}, ${taint}]\n      requirements:`,
    );
    const web = workload("Deployment", "web", 1);
    await expect(planFor([web, strange])).rejects.toThrow(
      "app.yaml, document 2: NodePool default: spec.template.spec.taints[1]: duplicate taint Key/Effect pair a=NoSchedule",
    );
    const known = POOL.replace(
      "key: karpenter.sh/capacity-type",
      "key: karpenter.k8s.aws/instance-cpu",
    );
    await expect(planFor([web, known])).resolves.toBeDefined();
    const told =
      "status: {conditions: [{type: Ready, status: 'False', reason: R, message: told, lastTransitionTime: '2026-01-01T00:00:00Z'}]}";
    const { notes } = await planFor([web, strange.replace("spec:", `${told}\nspec:`)]);
    expect(notes.join()).toContain("nodepool/default: passed over, its status says");

    const live = { where: "NodePool default of the cluster", live: true } as const;
    const manifests = sortManifests([
      { ...live, object: parse(strange) as KubeObject },
      {
        ...live,
        object: parse(
          POOL.replace("requirements:", "taints: 5\n      requirements:").replace(
            "name: default",
            "name: unsound",
          ),
        ) as KubeObject,
      },
    ]);
    const settings = {
      preferencePolicy: "Respect",
      minValuesPolicy: "Strict",
      poolNames: [],
    } as const;
    const planning = await planningInput(manifests, fileCloud(), settings, 0);
    expect(planning.input.pools).toEqual([]);
    expect(planning.notes.join("\n")).toContain(
      "nodepool/default: passed over, it is not valid: spec.template.spec.taints[1]: duplicate taint",
    );
    expect(planning.notes.join("\n")).toContain(
      "nodepool/unsound: passed over, it is not valid: spec.template.spec.taints",
    );
  });

  it("has a number outside the range of its field: the error names the range", () => {
    expect(refused(workload("Deployment", "web", 2_147_483_648))).toThrow(
      "spec.replicas: wanted a whole number from -2147483648 to 2147483647, got 2147483648",
    );
  });

  it("that is too long or too deep is refused in one sentence", () => {
    const list = "apiVersion: v1\nkind: List\nitems: 5";
    expect(refused(list)).toThrow("app.yaml: items: wanted a list, got 5");
    const deep = "[".repeat(20_000) + "]".repeat(20_000);
    expect(refused(deep)).toThrow("app.yaml: lists or maps in one another");
    const types = () => parseInstanceTypes("types.json", deep);
    expect(types).toThrow("types.json: lists or maps in one another");
    const long = "x".repeat(1_000_000);
    const sentenceOf = (text: string) => {
      try {
        refused(text)();
      } catch (error) {
        return (error as Error).message;
      }
      return "";
    };
    expect(sentenceOf(`"${long}"`)).toMatch(/^app\.yaml: wanted a Kubernetes object, got "x+…$/);
    const pod = `apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: ${long}}}\nspec: {}`;
    const told = sentenceOf(pod);
    expect(told).toMatch(/^app\.yaml: Pod p: metadata\.labels: Invalid value: "x/);
    expect(told).toContain("must be no more than 63");
    expect(told.length).toBeLessThan(800);
  });

  it("in a file of instance types is named by type and field", () => {
    const broken = (change: (type: Record<string, unknown>) => void) => () => {
      const types = JSON.parse(TYPES) as Record<string, unknown>[];
      change(types[1] as Record<string, unknown>);
      return parseInstanceTypes("types.json", JSON.stringify(types));
    };
    expect(broken((type) => delete type["offerings"])).toThrow(
      "types.json: m-4.offerings: wanted a list, got nothing",
    );
    expect(broken((type) => Object.assign(type, { capacity: { cpu: "two" } }))).toThrow(
      'types.json: m-4.capacity.cpu: wanted a quantity such as "2", "500m" or "8Gi", got "two"',
    );
    expect(broken((type) => Object.assign(type, { price: 1 }))).toThrow(
      "types.json: [1].price: unknown field",
    );
    expect(broken((type) => Object.assign(type, { name: "m-2" }))).toThrow("m-2 occurs twice");
    const offered = (...offerings: object[]) =>
      broken((type) =>
        Object.assign(type, {
          offerings: offerings.map((one) => ({ zone: "a", priceMicroUsdPerHour: 1, ...one })),
        }),
      );
    const [spot, reserved] = [{ capacityType: "spot" }, { capacityType: "reserved" }];
    const reservation = { id: "cr-1", count: 1 };
    expect(offered(spot, spot)).toThrow("m-4.offerings[1]: wanted one that is not offerings[0]");
    expect(offered(reserved)).toThrow("m-4.offerings[0].reservation: wanted an object");
    expect(offered({ ...spot, reservation })).toThrow("wanted none, for the capacityType is not");
    expect(offered({ ...reserved, reservation }, spot)).not.toThrow();
    const credits = (baseline: object) => broken((type) => Object.assign(type, { baseline }));
    expect(credits({ cpu: "lots" })).toThrow("types.json: m-4.baseline.cpu: wanted a quantity");
    expect(credits({ cpu: "9" })).toThrow(
      'm-4.baseline.cpu: wanted no more than the capacity has, got "9"',
    );
    expect(credits({ "example.com/x": "1" })).toThrow("wanted no more than the capacity has");
    expect(credits({ cpu: "400m" })()?.instanceTypes[1]?.baseline).toEqual({ cpu: 400 });
    expect(broken((type) => Object.assign(type, { labels: { "x y": "z" } }))).toThrow(
      'types.json: m-4.labels."x y": wanted a label key such as example.com/disk, got "x y"',
    );
    expect(() => parseInstanceTypes("types.json", "{}")).toThrow("wanted a JSON array");
  });

  it("in a file of instance types: invalid labels, and labels that contradict other fields", () => {
    const parsed =
      (change: object, offering: object = {}) =>
      () => {
        const [first, second] = JSON.parse(TYPES) as { offerings: object[] }[];
        Object.assign(second as object, change);
        Object.assign(second?.offerings[0] as object, offering);
        return parseInstanceTypes("types.json", JSON.stringify([first, second]));
      };
    const value =
      "wanted a label value (empty, or at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends), got";
    expect(parsed({ labels: { "example.com/disk": ["ssd", "s s"] } })).toThrow(
      `types.json: m-4.labels."example.com/disk": ${value} "s s"`,
    );
    expect(parsed({ name: "m 4" })).toThrow(`types.json: [1].name: ${value} "m 4"`);
    expect(parsed({}, { zone: "zone a" })).toThrow(
      `types.json: m-4.offerings[0].zone: ${value} "zone a"`,
    );
    const reserved = { capacityType: "reserved", reservation: { id: "cr 1", count: 1 } };
    expect(parsed({}, reserved)).toThrow(`m-4.offerings[0].reservation.id: ${value} "cr 1"`);
    const labelled = (key: string, said: unknown) => parsed({ labels: { [key]: said } });
    expect(labelled("node.kubernetes.io/instance-type", "m-9")).toThrow(
      'types.json: m-4.labels."node.kubernetes.io/instance-type": wanted "m-4", as its name says, or no such label, got "m-9"',
    );
    expect(labelled("topology.kubernetes.io/zone", ["a", "c"])).toThrow(
      'm-4.labels."topology.kubernetes.io/zone": wanted "a", "b", as its offerings say, or no such label, got ["a","c"]',
    );
    expect(labelled("failure-domain.beta.kubernetes.io/zone", "c")).toThrow("as its offerings say");
    expect(labelled("karpenter.sh/capacity-type", "spot")).toThrow(
      'wanted "on-demand", as its offerings say, or no such label, got "spot"',
    );
    expect(labelled("topology.kubernetes.io/zone", ["b", "a"])).not.toThrow();
    expect(labelled("example.com/none", [])).not.toThrow();
    expect(parsed({ name: "m-2" })).toThrow(
      "types.json: [1].name: m-2 occurs twice, first in [0]; give each a name of its own",
    );
  });

  it("of --nodepool-only: an unknown name", async () => {
    await expect(planFor([POOL], { poolNames: ["other"] })).rejects.toThrow(
      "--nodepool-only: no NodePool other in the input; there: default",
    );
  });
});

describe("folders of manifests", () => {
  it("are read by file name, and other files are ignored", () => {
    const folder = mkdtempSync(join(tmpdir(), "karpenter-plan-"));
    try {
      writeFileSync(join(folder, "b.yml"), node("n1"));
      writeFileSync(join(folder, "a.json"), JSON.stringify(parse(POOL)));
      writeFileSync(join(folder, "notes.txt"), "none of this");
      expect(readDocuments([folder]).map(({ object }) => object.kind)).toEqual([
        "NodePool",
        "Node",
      ]);
      expect(() => readDocuments([join(folder, "c.yaml")])).toThrow("no such file or folder");
      writeFileSync(join(folder, "kustomization.yaml"), "resources: [b.yml]");
      expect(() => readDocuments([folder])).toThrow(`use kubectl kustomize ${folder} |`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("Lists in the input of a plan", () => {
  it("may contain Lists, and several JSON texts may follow each other", () => {
    const [pool, one] = [parse(POOL), parse(node('"n{1"'))];
    const list = (...items: unknown[]) => ({ apiVersion: "v1", kind: "List", items });
    const nested = objectsOf("all.json", JSON.stringify(list(pool, list(list(one)))));
    expect(nested.map(({ object }) => object.kind)).toEqual(["NodePool", "Node"]);
    const two = [pool, one].map((each) => JSON.stringify(each, null, 2)).join("\n");
    expect(objectsOf("two.json", two).map(({ where }) => where)).toEqual([
      "two.json, document 1",
      "two.json, document 2",
    ]);
    expect(() => objectsOf("two.json", `${two} {`)).toThrow(
      /^two\.json: not valid JSON: line \d+, column 4: /,
    );
  });

  it("are read item by item, in JSON and in YAML", () => {
    const list = { apiVersion: "v1", kind: "List", items: [parse(POOL), parse(node("n1"))] };
    const found = objectsOf("all.json", JSON.stringify(list));
    expect(found.map(({ where }) => where)).toEqual(["all.json, item 1", "all.json, item 2"]);
    const typed = "apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}]";
    expect(objectsOf("pods.yaml", typed)[0]?.object).toMatchObject({
      kind: "Pod",
      apiVersion: "v1",
    });
  });
});

describe("karpenter plan without a file of instance types", () => {
  it("refuses a class whose status has an image for types that no requirement names", async () => {
    const read = (operator: string) => `apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec: {role: r, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-a}], securityGroupSelectorTerms: [{id: sg-a}]}
status: {amis: [{id: ami-a, requirements: [{key: karpenter.k8s.aws/instance-gpu-count, operator: ${operator}}]}]}`;
    const planned = async (operator: string) => {
      const texts = [POOL, read(operator), workload("Deployment", "web", 1)];
      const manifests = sortManifests(texts.flatMap((text) => objectsOf("app.yaml", text)));
      return planFor(texts, { cloud: await awsCatalogue("us-west-2", manifests) });
    };
    await expect(planned("Ignore")).rejects.toThrow(
      "EC2NodeClass default: status.amis[0].requirements[0]: key karpenter.k8s.aws/instance-gpu-count has an unsupported operator Ignore",
    );
    expect((await planned("DoesNotExist")).plan.newNodeClaims).toHaveLength(1);
  });

  it("refuses a class whose status has a value of a wrong type", () => {
    const read = `apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec: {role: r, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-a}], securityGroupSelectorTerms: [{id: sg-a}]}
status: {amis: [{id: ami-a, requirements: [{key: 1, operator: Exists}]}]}`;
    expect(() => sortManifests(objectsOf("app.yaml", read))).toThrow(
      "EC2NodeClass default: status.amis[0].requirements[0].key: wanted a text, got 1",
    );
  });

  it("uses AWS's catalogue, in the region of the zones in the input", async () => {
    const pool = POOL.replace(
      "operator: Exists}",
      "operator: In, values: [on-demand]}, {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1b]}",
    );
    const manifests = sortManifests(objectsOf("app.yaml", pool));
    expect(regionOf(manifests)).toBe("eu-west-1");
    const cloud = await awsCatalogue("eu-west-1", manifests);
    const { plan, notes } = await planFor([pool, workload("Deployment", "web", 2)], { cloud });
    expect(plan.newNodeClaims[0]?.cheapest).toMatchObject({
      zone: "eu-west-1b",
      capacityType: "on-demand",
    });
    expect(plan.totals.priceMicroUsdPerHour).toBeGreaterThan(10_000);
    expect(notes).toContain(
      "prices: on-demand as in us-east-1, because the embedded catalogue has none of eu-west-1; spot prices are estimates",
    );
    expect(notes.join("\n")).toContain("EC2NodeClass default is not in the input");
  });

  it("names every invalid disruption budget in a note, because it blocks disruption silently", async () => {
    const budgets = [
      { nodes: "1", schedule: "0 25 * * *", duration: "1h" },
      { nodes: "10%" },
      { nodes: "1", schedule: "61 * * * *", duration: "1h" },
    ];
    const bad = POOL.replace("spec:\n", `spec:\n  disruption: ${JSON.stringify({ budgets })}\n`);
    const { notes } = await planFor([bad]);
    const told = notes.find((note) => note.includes("budgets"));
    expect(told).toMatch(
      /budgets\[0\]\.schedule: "0 25 .*; spec\.disruption\.budgets\[2\]\.schedule: "61 /,
    );
    expect(told).toMatch(/; no node of it is disrupted until this is corrected$/);
  });

  it("leaves out a NodePool of another provider with a note, as the controller does", async () => {
    const path = new URL("../../../test/fixtures/eks-auto-mode.yaml", import.meta.url);
    const text = readFileSync(path, "utf8");
    const { plan, notes } = await planFor([text], {
      cloud: await cloudOf({}, sortManifests(objectsOf("auto.yaml", text))),
    });
    expect(plan.newNodeClaims).toEqual([]);
    expect(plan.unschedulable.map(({ pod }) => pod)).toEqual(["default/db"]);
    expect(plan.unschedulable[0]?.reason).toContain(
      'no dynamic nodepools found: none is ours: nodepool "auto-gpu" (NodeClass of eks.amazonaws.com); this Karpenter serves EC2NodeClass of karpenter.k8s.aws',
    );
    expect(notes).toContainEqual(
      expect.stringMatching(
        /auto-gpu: passed over, its class is a NodeClass of eks\.amazonaws\.com, which belongs to another provider/,
      ),
    );
    // Instance types from a file may be used by pools of any provider.
    expect(
      (await planFor([text.replace(/requirements:\n( +-.*\n)+/, "requirements: []\n")])).plan
        .newNodeClaims,
    ).toHaveLength(1);
  });

  it("names a missing node class and suggests the intended one", async () => {
    const nodeClass = (name: string) => `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: ${name}}
spec:
  role: r
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]`;
    const noteOf = async (documents: readonly string[]) => {
      const cloud = await cloudOf(
        {},
        sortManifests(objectsOf("app.yaml", documents.join("\n---\n"))),
      );
      const { notes } = await planFor(documents, { cloud });
      return notes.find((note) => note.includes("EC2NodeClass"));
    };
    expect(await noteOf([POOL])).toMatch(
      /EC2NodeClass default is not in the input.*; add the EC2NodeClass with -f$/,
    );
    expect(await noteOf([POOL, nodeClass("defualt")])).toMatch(/; did you mean defualt\? /);
    expect(await noteOf([POOL, nodeClass("default")])).toBeUndefined();
  });

  it("finds the region also from volumes, storage classes and pods", () => {
    const zone = "[{key: topology.ebs.csi.aws.com/zone, values: [eu-north-1a]}]";
    const storageClass = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a}, provisioner: ebs.csi.aws.com, allowedTopologies: [{matchLabelExpressions: ${zone}}]}`;
    const selector = "nodeSelector: {topology.kubernetes.io/zone: us-west-2c}";
    const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {${selector}, containers: [{name: c, image: i}]}}`;
    const job = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, ${selector}, containers: [{name: c, image: i}]}}}}}}`;
    const region = (...texts: string[]) =>
      regionOf(sortManifests(texts.flatMap((text, at) => objectsOf(`${at}.yaml`, text))));
    expect(region(POOL)).toBe(undefined);
    expect(region(POOL, pod)).toBe("us-west-2");
    expect(region(POOL, job)).toBe("us-west-2");
    expect(region(POOL, pod, storageClass)).toBe("eu-north-1");
  });

  it("refuses an invalid --region also with a file of instance types, and notes that it has no effect there", async () => {
    const folder = mkdtempSync(join(tmpdir(), "karpenter-plan-"));
    try {
      const instanceTypes = join(folder, "types.json");
      writeFileSync(instanceTypes, TYPES);
      const asked = (region?: string) =>
        cloudOf({ instanceTypes, ...(region === undefined ? {} : { region }) }, sortManifests([]));
      await expect(asked("mars")).rejects.toThrow(
        '--region: wanted a region of AWS such as eu-west-1, got "mars"',
      );
      expect((await asked("eu-west-1")).notes).toEqual([
        "--region eu-west-1 counts for nothing: --instance-types says what can be launched",
      ]);
      expect((await asked()).notes).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("launches in zones beyond a to c that the input names, and notes what is not known of them", async () => {
    const zones = "us-east-1a, us-east-1d, us-east-1f, us-east-1z";
    const pool = POOL.replace(
      "operator: Exists}",
      `operator: In, values: [on-demand]}, {key: topology.kubernetes.io/zone, operator: In, values: [${zones}]}`,
    );
    const apart = `apiVersion: apps/v1
kind: Deployment
metadata: {name: apart}
spec:
  replicas: 3
  selector: {matchLabels: {app: apart}}
  template:
    metadata: {labels: {app: apart}}
    spec:
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: NotIn, values: [us-east-1e]}]}]}}}
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: apart}}}]
      containers: [{name: app, image: example.com/app, resources: {requests: {cpu: "1"}}}]`;
    const manifests = sortManifests([pool, apart].flatMap((text) => objectsOf("app.yaml", text)));
    const cloud = await awsCatalogue("us-east-1", manifests);
    const { plan, notes } = await planFor([pool, apart], { cloud });
    expect(plan.newNodeClaims.map(({ cheapest }) => cheapest.zone).sort()).toEqual([
      "us-east-1a",
      "us-east-1d",
      "us-east-1f",
    ]);
    expect(notes).toContain(
      "zones: us-east-1d, us-east-1f are zones of the input; which instance types AWS sells there is not known",
    );
  });

  it("launches in no zone beyond a to c that does not exist, whoever asks for it", async () => {
    const topology = (zone: string) =>
      `[{key: topology.kubernetes.io/zone, operator: In, values: [${zone}]}]`;
    const pool = (zone: string) =>
      POOL.replace("operator: Exists}", `operator: Exists}, ${topology(zone).slice(1, -1)}`);
    const named = `nodeSelector: {topology.kubernetes.io/zone: us-west-2f}`;
    const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {${named}, containers: [{name: c, image: i}]}}`;
    const storageClass = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: ebs.csi.aws.com, allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [us-west-2f]}]}]}`;
    const node =
      "{apiVersion: v1, kind: Node, metadata: {name: node-1, labels: {topology.kubernetes.io/zone: us-west-2f}}}";
    const volume = `{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: ${topology("us-west-2f")}}]}}}}`;
    const nodeClass =
      "{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: default}, spec: {role: r, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}, status: {subnets: [{id: subnet-1, zone: us-west-2f}]}}";
    const zones = (...texts: string[]) =>
      moreZonesIn(
        sortManifests(texts.flatMap((text, at) => objectsOf(`${at}.yaml`, text))),
        "us-west-2",
      );
    for (const wish of [pool("us-west-2f"), pod, storageClass]) expect(zones(wish)).toEqual([]);
    for (const proof of [node, volume, nodeClass])
      expect(zones(proof, pod)).toEqual(["us-west-2f"]);
    expect(zones(pool("us-west-2d"))).toEqual(["us-west-2d"]);

    const texts = [pool("us-west-2f"), pod];
    const manifests = sortManifests(texts.flatMap((text) => objectsOf("app.yaml", text)));
    const { plan } = await planFor(texts, { cloud: await awsCatalogue("us-west-2", manifests) });
    expect(plan.newNodeClaims).toEqual([]);
    expect(plan.unschedulable.length).toBe(1);
  });

  it("puts no more EBS volumes on a new node than its type takes", async () => {
    const pool = POOL.replace(
      "operator: Exists}",
      "operator: In, values: [on-demand]}, {key: node.kubernetes.io/instance-type, operator: In, values: [m5.4xlarge]}",
    );
    const stores = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  replicas: 60
  serviceName: store
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: app, image: example.com/app, resources: {requests: {cpu: 10m}}}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer`;
    const cloud = await awsCatalogue("us-east-1", sortManifests(objectsOf("pool.yaml", pool)));
    const { plan } = await planFor([pool, stores], { cloud });
    expect(plan.newNodeClaims.map(({ pods }) => pods.length)).toEqual([25, 25, 10]);
  });

  it("notes that the region is a guess, once types of AWS are listed", async () => {
    const manifests = sortManifests(objectsOf("pool.yaml", POOL));
    const said = async (region?: string) => {
      const { notes, typesOf } = await awsCatalogue(region, manifests);
      // On a cluster with another provider the region means nothing.
      expect(notes).toEqual([]);
      await typesOf(toPool(manifests.pools[0] as never));
      return notes.join();
    };
    expect(await said()).toContain("region: us-east-1, for nothing in the input names a zone");
    expect(await said("us-east-1")).not.toContain("region:");
  });

  it.each([
    ["us-gov-west-1b", "us-gov-west-1"],
    ["eusc-de-east-1a", "eusc-de-east-1"],
    ["zone-a", undefined],
  ])("knows that zone %s is in region %s", (zone, region) => {
    const pool = POOL.replace(
      "operator: Exists}",
      `operator: Exists}, {key: topology.kubernetes.io/zone, operator: In, values: [${zone}]}`,
    );
    expect(regionOf(sortManifests(objectsOf("app.yaml", pool)))).toBe(region);
  });

  it.each([
    ["eusc-de-east-1", true],
    ["frankfurt", false],
    ["eu-west-1a", false],
  ])("accepts --region %s: %s", async (region, isOne) => {
    const asked = cloudOf({ region }, sortManifests([]));
    if (isOne) await expect(asked).resolves.toBeDefined();
    else await expect(asked).rejects.toThrow("--region: wanted a region of AWS such as eu-west-1");
  });
});

/**
 * Equal input gives byte-equal plans, whatever the order of objects: documents in a file, items of a List, files on
 * the command line, entries of an instance type file. Each input has objects that occur more than once, so that
 * code which takes the first or last one fails.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type PlanFlags, runPlan } from "./run-plan.ts";

const RUNS = 20;
/** Fewer runs with the AWS catalogue, because it is slow. */
const RUNS_OF_AWS = 4;
const ZONE = "topology.kubernetes.io/zone";

const TYPES: readonly unknown[] = [2, 4, 8].map((cpu) => ({
  name: `m-${cpu}`,
  labels: { "kubernetes.io/arch": "amd64" },
  capacity: { cpu: String(cpu), memory: `${4 * cpu}Gi`, pods: "20" },
  offerings: [
    ...["a", "b"].map((zone) => ({
      zone,
      capacityType: "on-demand",
      priceMicroUsdPerHour: cpu * 50_000,
    })),
    ...["cr-1", "cr-2"].map((id) => ({
      zone: "a",
      capacityType: "reserved",
      priceMicroUsdPerHour: 10,
      reservation: { id, count: 1 },
    })),
  ],
}));

interface Shape {
  readonly metadata?: string;
  readonly spec?: string;
  readonly cpu?: string | undefined;
}

function container(cpu: string | undefined): string {
  const resources = cpu === undefined ? "" : `, resources: {requests: {cpu: "${cpu}"}}`;
  return `containers: [{name: main, image: pause${resources}}]`;
}

function pod(metadata: string, { spec = "", cpu = "1" }: Shape = {}): string {
  return `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, ${metadata}}, spec: {${spec}${container(cpu)}}}`;
}

function workload(kind: string, name: string, { metadata = "", spec = "", cpu }: Shape): string {
  return `{apiVersion: ${kind === "Job" ? "batch/v1" : "apps/v1"}, kind: ${kind}, metadata: {${name}, namespace: shop${metadata}},
    spec: {${spec} template: {metadata: {labels: {app: web}},
    spec: {${kind === "Job" ? "restartPolicy: Never, " : ""}${container(cpu)}}}}}`;
}

const SELECTOR = "selector: {matchLabels: {app: web}},";

function pool(name: string, requirements = "", spec = ""): string {
  return `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: ${name}}, spec: {${spec}template: {spec: {
    nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: ${name}},
    requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand, reserved]}${requirements}]}}}}`;
}

function inZone(zone: string): string {
  return `, {key: ${ZONE}, operator: In, values: [${zone}]}`;
}

function node(
  name: string,
  { metadata = "", spec = `x:///${name}`, cpu = "4" }: Shape = {},
): string {
  const amounts = `{cpu: "${cpu}", memory: 16Gi, pods: "20"}`;
  return `{apiVersion: v1, kind: Node, metadata: {name: ${name}${metadata}}, spec: {providerID: "${spec}"},
    status: {capacity: ${amounts}, allocatable: ${amounts}}}`;
}

function ofPool(zone: string): string {
  return `, labels: {karpenter.sh/nodepool: default, ${ZONE}: ${zone}}`;
}

function autoscaler(name: string, min: number, max: number): string {
  return `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: ${name}, namespace: shop},
    spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: ${min}, maxReplicas: ${max}}}`;
}

function limitRange(name: string, cpu: string): string {
  return `{apiVersion: v1, kind: LimitRange, metadata: {name: ${name}, namespace: shop},
    spec: {limits: [{type: Container, defaultRequest: {cpu: "${cpu}"}}]}}`;
}

function priorityClass(name: string, value: number, more = ", globalDefault: true"): string {
  return `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: ${name}}, value: ${value}${more}}`;
}

function storageClass(name: string, zone: string): string {
  return `{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer,
    metadata: {name: ${name}, annotations: {storageclass.kubernetes.io/is-default-class: "true"}},
    allowedTopologies: [{matchLabelExpressions: [{key: ${ZONE}, values: [${zone}]}]}]}`;
}

function claim(name: string, more = ""): string {
  return `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ${name}, namespace: shop},
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}${more}}}`;
}

function volume(name: string, zone: string): string {
  return `{apiVersion: v1, kind: PersistentVolume, metadata: {name: ${name}}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce],
    csi: {driver: ebs.csi.aws.com, volumeHandle: ${name}},
    nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: ${ZONE}, operator: In, values: [${zone}]}]}]}}}}`;
}

function withClaim(name: string): string {
  return `volumes: [{name: data, persistentVolumeClaim: {claimName: ${name}}}], `;
}

function overlay(name: string, price: string): string {
  return `{apiVersion: karpenter.sh/v1alpha1, kind: NodeOverlay, metadata: {name: ${name}},
    spec: {requirements: [{key: ${ZONE}, operator: In, values: [a]}], price: "${price}"}}`;
}

function nodeClass(name: string, zone: string): string {
  return `{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: ${name}}, spec: {role: any,
    amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-0a}], securityGroupSelectorTerms: [{id: sg-0a}]},
    status: {subnets: [{id: subnet-${zone}, zone: ${zone}}]}}`;
}

function facts(namespace: string, region: string): string {
  return `{apiVersion: v1, kind: ConfigMap, metadata: {name: karpenter-facts, namespace: ${namespace}}, data: {settings: "{}",
    region: ${region}, pricesReadAt: "2026-01-31T00:00:00Z", pricesMicroUsdPerHour: "m5.large on-demand=50000\\n"}}`;
}

function ownedBy(kind: string, name: string): string {
  return `ownerReferences: [{apiVersion: apps/v1, kind: ${kind}, name: ${name}, uid: u, controller: true}]`;
}

const many = (count: number, make: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Objects that occur more than once, and a field that shows which one counted. */
const INPUTS: Readonly<Record<string, readonly string[]>> = {
  "HorizontalPodAutoscalers of one workload": [
    pool("default"),
    workload("Deployment", "name: web", { spec: `replicas: 4, ${SELECTOR}` }),
    autoscaler("some", 1, 2),
    autoscaler("more", 6, 9),
    autoscaler("others", 3, 7),
  ],
  "LimitRanges of one namespace": [
    pool("default"),
    workload("Deployment", "name: web", { spec: `replicas: 2, ${SELECTOR}` }),
    workload("DaemonSet", "name: agent", { spec: SELECTOR }),
    limitRange("small", "100m"),
    limitRange("large", "3"),
  ],
  "default PriorityClasses": [
    pool("default", "", "limits: {cpu: 2}, "),
    priorityClass("low", 10),
    priorityClass("high", 1_000),
    priorityClass("mid", 100, ""),
    pod("name: plain", { cpu: "2" }),
    pod("name: named", { cpu: "2", spec: "priorityClassName: mid, " }),
  ],
  "names that the API server draws": [
    pool("default"),
    ...many(3, (cpu) => pod("generateName: p-", { cpu: String(cpu + 1) })),
    pod("generateName: p-1", { cpu: "5" }),
    pod("name: p-2", { cpu: "6" }),
    workload("Job", "generateName: j-", { cpu: "1" }),
    workload("Job", "generateName: j-", { cpu: "7" }),
  ],
  "default StorageClasses": [
    pool("default"),
    storageClass("one", "a"),
    storageClass("two", "b"),
    claim("data"),
    pod("name: p", { spec: withClaim("data") }),
  ],
  "volumes and claims": [
    pool("default"),
    volume("in-a", "a"),
    volume("in-b", "b"),
    claim("one", ", volumeName: in-a"),
    claim("two", ", volumeName: in-b"),
    claim("three", ", volumeName: in-b"),
    ...["one", "two", "three", "lost"].map((name) =>
      pod(`name: ${name}`, { spec: withClaim(name) }),
    ),
    pod("name: x-y", {
      spec: `volumes: [{name: z, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: one, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}], `,
    }),
    pod("name: x", {
      spec: `volumes: [{name: y-z, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: two, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}], `,
    }),
    storageClass("one", "a"),
    storageClass("two", "b"),
  ],
  "NodePools and NodeOverlays of one weight": [
    pool("one", inZone("a")),
    pool("two", inZone("b")),
    pool("three", "", "limits: {cpu: 4}, "),
    pool("fixed-2", "", "replicas: 2, "),
    pool("fixed-1", "", "replicas: 1, "),
    overlay("cheap", "0.001"),
    overlay("dear", "9"),
    ...many(6, (index) => pod(`name: p${index}`, { cpu: String(index + 1) })),
    pod("name: none", { cpu: "99" }),
  ],
  "Nodes, NodeClaims and the pods on them": [
    pool("default"),
    node("n1"),
    node("n2", { metadata: ofPool("a") }),
    node("n3", { metadata: ofPool("b") }),
    // One machine with two Nodes, and a machine that is being removed.
    node("n4", { metadata: ofPool("a"), spec: "x:///n3", cpu: "8" }),
    node("n5", {
      metadata: `${ofPool("a")}, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [karpenter.sh/termination]`,
    }),
    ...["c1", "c2"].map(
      (
        name,
        index,
      ) => `{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: ${name}, labels: {karpenter.sh/nodepool: default, ${ZONE}: a}},
        spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}},
        status: {providerID: "x:///n2", nodeName: n2, capacity: {cpu: "${index + 2}"}, allocatable: {cpu: "${index + 2}"}}}`,
    ),
    ...many(6, (index) => pod(`name: on-${index}`, { spec: `nodeName: n${(index % 5) + 1}, ` })),
    ...many(8, (index) => pod(`name: stray-${index}`, { spec: `nodeName: gone, ` })),
    ...many(7, (index) => pod(`name: gated-${index}`, { spec: `schedulingGates: [{name: g}], ` })),
    ...many(9, (index) => pod(`name: waits-${index}`, { cpu: `${index % 3}00m` })),
    ...[0, 1].map(
      (
        most,
      ) => `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b${most}, namespace: shop},
        spec: {maxUnavailable: ${most}, selector: {}}}`,
    ),
  ],
  "workloads and pods of theirs": [
    pool("default"),
    workload("Deployment", "name: web", { spec: `replicas: 5, ${SELECTOR}` }),
    workload("StatefulSet", "name: web", { spec: `replicas: 2, serviceName: web, ${SELECTOR}` }),
    workload("Job", "name: web", { spec: "parallelism: 2, completions: 2," }),
    pod(`name: a, labels: {pod-template-hash: abc}, ${ownedBy("ReplicaSet", "web-abc")}`),
    pod(`name: b, ${ownedBy("ReplicaSet", "web-abc")}`),
    pod(`name: c, labels: {pod-template-hash: abc}, ${ownedBy("ReplicaSet", "web-abc")}`),
    pod(`name: d, ${ownedBy("ReplicaSet", "web-abc")}`),
    ...["one", "two"].map(
      (name) => `{apiVersion: batch/v1, kind: CronJob, metadata: {name: ${name}, namespace: shop},
        spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, ${container("1")}}}}}}}`,
    ),
    workload("DaemonSet", "name: agent", { spec: SELECTOR, cpu: "100m" }),
    workload("DaemonSet", "name: other", { spec: SELECTOR, cpu: "200m" }),
    pod(`name: agent-a, ${ownedBy("DaemonSet", "agent")}`, { cpu: "300m", spec: "nodeName: n1, " }),
    pod(`name: agent-b, ${ownedBy("DaemonSet", "agent")}`, { cpu: "500m", spec: "nodeName: n2, " }),
    node("n1"),
    node("n2"),
  ],
};

/** Inputs with zones of several regions, which decide the region of prices. */
const OF_AWS: Readonly<Record<string, readonly string[]>> = {
  "NodePools in several regions": [
    pool("one", inZone("us-west-2a")),
    pool("two", inZone("eu-west-1a")),
    pod("name: p"),
  ],
  "classes in several regions": [
    pool("one"),
    nodeClass("one", "us-west-2a"),
    nodeClass("two", "eu-west-1a"),
    pod("name: p"),
  ],
  "pods in several regions": [
    pool("one"),
    pod("name: p", { spec: `nodeSelector: {${ZONE}: us-west-2a}, ` }),
    pod("name: q", { spec: `nodeSelector: {${ZONE}: eu-west-1a}, ` }),
  ],
  "facts of several Karpenters": [
    pool("one"),
    facts("karpenter", "us-west-2"),
    facts("kube-system", "eu-west-1"),
    pod("name: p"),
  ],
};

/** The objects in another order, split into files, with the format of each file. */
function arrangement(objects: readonly unknown[], types: readonly unknown[] = []) {
  return fc.record({
    objects: fc.shuffledSubarray([...objects], { minLength: objects.length }),
    types: fc.shuffledSubarray([...types], { minLength: types.length }),
    isTurned: fc.boolean(),
    ends: fc.subarray(objects.map((_, index) => index)),
    shapes: fc.array(fc.constantFrom<Shaped>("documents", "List", "array"), { minLength: 1 }),
  });
}

type Shaped = "documents" | "List" | "array";
type Arrangement = ReturnType<typeof arrangement> extends fc.Arbitrary<infer T> ? T : never;

const AS_WRITTEN = { isTurned: false, ends: [], shapes: ["documents" as const] };

function fileText(objects: readonly unknown[], shape: Shaped): string {
  if (shape === "List") return JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  if (shape === "array") return JSON.stringify(objects);
  return objects.map((one) => JSON.stringify(one)).join("\n---\n");
}

/** The printed plan, without its duration. */
async function planned(
  { objects, types, isTurned, ends, shapes }: Arrangement,
  more: Partial<PlanFlags> = {},
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-plan-order-"));
  try {
    const cuts = [...new Set([0, ...ends, objects.length])];
    const filename = cuts.slice(1).map((end, index) => {
      const shape = shapes[index % shapes.length] as Shaped;
      const path = join(folder, `${index}.yaml`);
      writeFileSync(path, fileText(objects.slice(cuts[index], end), shape));
      return path;
    });
    const ofTypes = join(folder, "types.json");
    writeFileSync(ofTypes, JSON.stringify(isTurned ? types.map(withTurnedOfferings) : types));
    const flags: PlanFlags = {
      filename: isTurned ? filename.toReversed() : filename,
      ...(types.length === 0 ? {} : { instanceTypes: ofTypes }),
      preferencePolicy: "Respect",
      minValuesPolicy: "Strict",
      planner: "cost",
      plannerEffort: 1,
      plannerNodeCost: 0,
      plannerMinSaving: 0,
      plannerMinPods: 0,
      output: "json",
      lowerBound: true,
      fix: true,
      ...more,
    };
    const lines: string[] = [];
    const take = (text: string) => lines.push(text);
    await runPlan(
      flags,
      { out: take, err: take },
      { stage: () => undefined, end: () => undefined },
    );
    const text = lines.join("");
    const mark = text.indexOf('"timings"');
    expect(mark).toBeGreaterThan(0);
    return text.slice(0, mark);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function withTurnedOfferings(type: unknown): unknown {
  const { offerings, ...rest } = type as { readonly offerings: readonly unknown[] };
  return { ...rest, offerings: offerings.toReversed() };
}

async function check(
  documents: readonly string[],
  types: readonly unknown[],
  numRuns: number,
): Promise<void> {
  const objects = documents.map((text) => parse(text) as unknown);
  const wanted = await planned({ ...AS_WRITTEN, objects, types: [...types] });
  await fc.assert(
    fc.asyncProperty(arrangement(objects, types), async (other) => {
      expect(await planned(other)).toBe(wanted);
    }),
    { seed: 1, numRuns },
  );
}

describe("karpenter plan gives the same plan for any order of its input", () => {
  it.each(Object.entries(INPUTS))("with several %s", async (_, documents) => {
    await check(documents, TYPES, RUNS);
  });

  it.each(Object.entries(OF_AWS))("with AWS instance types, and %s", async (_, documents) => {
    await check(documents, [], RUNS_OF_AWS);
  });
});

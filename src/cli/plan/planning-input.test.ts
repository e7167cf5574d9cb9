import { describe, expect, it } from "vitest";
import { keyOf } from "../../apis/meta.ts";
import { solve } from "../../core/provisioning/solve.ts";
import { instanceType } from "../../testing/builders.ts";
import { poolManifest } from "../../testing/manifests.ts";
import { objectsOf } from "./documents.ts";
import { sortManifests } from "./manifests.ts";
import { planningInput } from "./planning-input.ts";

const NOW = Date.parse("2026-01-01T01:00:00Z");

const POOL = poolManifest({
  requirements: ["{key: karpenter.sh/capacity-type, operator: Exists}"],
});

interface Written {
  readonly namespace?: string;
  /** Further fields of metadata, of the spec, of the status. */
  readonly metadata?: string;
  readonly spec?: string;
  readonly status?: string;
}

function pod(name: string, options: Written = {}): string {
  const { namespace = "shop", metadata = "", spec = "", status = "phase: Pending" } = options;
  return `{apiVersion: v1, kind: Pod, metadata: {name: ${name}, namespace: ${namespace}${metadata}},
  spec: {containers: [{name: main, image: pause}]${spec}}, status: {${status}}}`;
}

function node(name: string, metadata = ""): string {
  return `{apiVersion: v1, kind: Node, metadata: {name: ${name}${metadata}, labels: {karpenter.sh/nodepool: default}},
  spec: {providerID: "x:///${name}"},
  status: {capacity: {cpu: "8", memory: 8Gi, pods: "20"}, allocatable: {cpu: "8", memory: 8Gi, pods: "20"}}}`;
}

const GOING = ', deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [karpenter.sh/termination]';

async function read(...documents: readonly string[]) {
  const manifests = sortManifests(objectsOf("app.yaml", documents.join("\n---\n")));
  const cloud = { wellKnownLabels: [], typesOf: async () => [instanceType()], notes: [] };
  const settings = {
    preferencePolicy: "Respect",
    minValuesPolicy: "Strict",
    poolNames: [],
  } as const;
  return planningInput(manifests, cloud, settings, NOW);
}

/** Names of the pods that need a place. */
async function wanting(...documents: readonly string[]): Promise<string[]> {
  const { input } = await read(POOL, ...documents);
  return input.pods.map(({ metadata }) => metadata.name).sort();
}

describe("pods that are not bound, in the input of a plan", () => {
  it("need a node, except ended pods, pods that are being deleted, and daemon pods", async () => {
    const owner =
      ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u, controller: true}]";
    const found = await wanting(
      pod("waits"),
      pod("succeeded", { status: "phase: Succeeded" }),
      pod("failed", { status: "phase: Failed" }),
      pod("goes", { metadata: ', deletionTimestamp: "2026-01-01T00:00:00Z"' }),
      pod("agent", { metadata: owner }),
    );
    expect(found).toEqual(["waits"]);
  });

  it("find the namespace of other pods by its name, even if the namespace is not in the input", async () => {
    const term = `{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: db}},
      namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: data}}}`;
    const affinity = `, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [${term}]}}`;
    const { input } = await read(
      POOL,
      "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: web}}}",
      pod("db", { namespace: "data", metadata: ", labels: {app: db}" }),
      pod("near-db", { spec: affinity }),
    );
    expect(solve(input).unschedulable).toEqual([]);
    const labels = input.namespaces.map(({ metadata }) => metadata.labels);
    expect(labels).toEqual([
      { "kubernetes.io/metadata.name": "shop", team: "web" },
      { "kubernetes.io/metadata.name": "data" },
    ]);
  });
});

describe("pods of a leaving node, in the input of a plan", () => {
  const on = (name: string, options: Written = {}) =>
    pod(name, {
      ...options,
      spec: `, nodeName: n1${options.spec ?? ""}`,
      status: options.status ?? "phase: Running",
    });

  it("need another node, except those with do-not-disrupt while it lasts", async () => {
    const asks = (text: string) => `, annotations: {karpenter.sh/do-not-disrupt: "${text}"}`;
    const started = 'phase: Running, startTime: "2026-01-01T00:00:00Z"';
    const found = await wanting(
      node("n1", GOING),
      on("moves"),
      on("asks", { metadata: asks("true") }),
      on("asks-still", { metadata: asks("61m"), status: started }),
      on("asked-once", { metadata: asks("59m"), status: started }),
    );
    expect(found).toEqual(["asked-once", "moves"]);
  });

  it("need another node, except those that a PodDisruptionBudget always blocks", async () => {
    const budget = (name: string, spec: string) =>
      `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: ${name}, namespace: shop},
        spec: {${spec}, selector: {matchLabels: {app: ${name}}}}}`;
    const app = (name: string) => ({ metadata: `, labels: {app: ${name}}` });
    const found = await wanting(
      node("n1", GOING),
      budget("kept", "maxUnavailable: 0"),
      budget("let-go", "maxUnavailable: 1"),
      on("kept-0", app("kept")),
      on("let-go-0", app("let-go")),
      on("elsewhere-0", { ...app("kept"), namespace: "other" }),
    );
    expect(found).toEqual(["elsewhere-0", "let-go-0"]);
  });

  it("need another node, except ended pods and daemon pods", async () => {
    const owner =
      ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u, controller: true}]";
    const found = await wanting(
      node("n1", GOING),
      on("moves"),
      on("succeeded", { status: "phase: Succeeded" }),
      on("failed", { status: "phase: Failed" }),
      on("agent", { metadata: owner }),
    );
    expect(found).toEqual(["moves"]);
  });

  it("need another node if a running command removes their node, even before it is deleted", async () => {
    const record = JSON.stringify({
      id: "c1",
      reason: "Underutilized",
      consolidationType: "single",
      startedAt: "2026-01-01T00:00:00Z",
      nodes: ["n1"],
      replacements: 0,
    });
    const claim = (annotations: string) => `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: n1, labels: {karpenter.sh/nodepool: default}, annotations: {${annotations}}}
spec:
  requirements: []
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
status: {providerID: "x:///n1", nodeName: n1}`;
    const command = `karpenter.sh/disruption-command: '${record}'`;
    expect(await wanting(node("n1"), claim(""), on("stays"))).toEqual([]);
    expect(await wanting(node("n1"), claim(command), on("moves"))).toEqual(["moves"]);
  });
});

describe("a static NodePool in the input of a plan", () => {
  it("launches nothing, and a note says so", async () => {
    const fixed = POOL.replace("spec:\n", "spec:\n  replicas: 2\n");
    const { input, notes } = await read(fixed, pod("waits"));
    expect(input.pools).toEqual([]);
    expect(notes).toContain(
      "nodepool/default: passed over, its number of nodes is fixed (spec.replicas)",
    );
    expect(notes).toContain(
      "nodepool/default: with the feature gate StaticCapacity it gets 2 more nodes, which would take pods, too; the plan neither prices nor fills them",
    );
    const [waits, ...others] = solve(input).unschedulable;
    expect(others).toEqual([]);
    expect(waits && keyOf(waits.pod)).toBe("shop/waits");
    expect(waits?.message).toBe(
      "no dynamic nodepools found: nodepool/default: its number of nodes is fixed (spec.replicas)",
    );
  });
});

describe("an annotation without effect, in the input of a plan", () => {
  it("is reported in a note with its NodePool", async () => {
    const noted = async (word: string) => {
      const annotated = POOL.replace(
        "name: default",
        `name: default, annotations: {karpenter.sh/return-to-preferred: ${word}}`,
      );
      const { notes } = await read(annotated);
      return notes.filter((note) => note.includes("return-to-preferred"));
    };
    expect(await noted("nodepool")).toEqual([]);
    expect(await noted("cheapest")).toEqual([
      'NodePool default: annotation karpenter.sh/return-to-preferred: "cheapest" has no effect: write nodepool, capacity-type, dearer, separated by commas',
    ]);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { poolManifest } from "../../testing/manifests.ts";
import { keepsToSchema, pageSchema } from "../../testing/page-schema.ts";
import { type Found, objectsOf } from "./documents.ts";
import { expandWorkloads } from "./expand-workloads.ts";
import { headroomPods } from "./headroom.ts";
import { readCluster } from "./live-cluster.ts";
import { sortManifests } from "./manifests.ts";
import type { Plan } from "./plan.ts";
import { runPlan } from "./run-plan.ts";

const TYPES = JSON.stringify([
  {
    name: "m-4",
    labels: { "kubernetes.io/arch": "amd64" },
    capacity: { cpu: "4", memory: "16Gi", pods: "20" },
    overhead: {},
    offerings: [{ zone: "a", capacityType: "on-demand", priceMicroUsdPerHour: 200_000 }],
  },
]);

const POOL = poolManifest({
  requirements: ["{key: karpenter.sh/capacity-type, operator: Exists}"],
});
const ROOM = `
apiVersion: v1
kind: PodTemplate
metadata: {name: room, namespace: shop}
template:
  spec:
    containers: [{name: main, image: pause, resources: {requests: {cpu: "1", memory: 4Gi}}}]
`;
const web = (replicas: number, cpu = "1", memory = "4Gi") => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: pause, resources: {requests: {cpu: "${cpu}", memory: ${memory}}}}]
`;
const buffer = (spec: string, name = "spare") => `
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: ${name}, namespace: shop}
spec: ${spec}
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-headroom-"));
  writeFileSync(join(folder, "types.json"), TYPES);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What `karpenter plan` prints, and its exit code. */
async function plan(documents: readonly string[], output: "text" | "json" | "markdown" = "text") {
  const path = join(folder, "app.yaml");
  writeFileSync(path, documents.join("\n---\n"));
  const said: string[] = [];
  const code = await runPlan(
    {
      filename: [path],
      instanceTypes: join(folder, "types.json"),
      preferencePolicy: "Respect",
      minValuesPolicy: "Strict",
      planner: "cost",
      plannerEffort: 100,
      plannerNodeCost: 0,
      plannerMinSaving: 0,
      plannerMinPods: 2,
      output,
      fix: true,
    },
    { out: (text) => said.push(text), err: () => undefined },
  );
  return { code, text: said.join("") };
}

async function planned(documents: readonly string[]): Promise<Plan> {
  const { text } = await plan(documents, "json");
  const json = JSON.parse(text) as Plan;
  keepsToSchema(pageSchema("plan"), json, { totals: {} });
  return json;
}

/** The number of buffer pods that a plan of these documents has, and the notes. */
function roomIn(documents: readonly string[]) {
  const { pods, notes } = headroomPods(
    sortManifests(objectsOf("app.yaml", documents.join("\n---\n"))),
  );
  return { count: pods.length, notes };
}

describe("CapacityBuffers in a plan", () => {
  it("share the price of nodes with pods, and are listed separately", async () => {
    const documents = [POOL, ROOM, web(1), buffer("{podTemplateRef: {name: room}, replicas: 3}")];
    const found = await planned(documents);
    expect(found.totals).toMatchObject({
      pods: 1,
      placed: 1,
      nodes: 1,
      priceMicroUsdPerHour: 200_000,
    });
    expect(found.newNodeClaims).toMatchObject([
      { pods: ["shop/web-0"], headroom: [{ buffer: "shop/spare", pods: 3 }] },
    ]);
    expect(found.headroom).toEqual([
      { buffer: "shop/spare", pods: 3, placed: 3, priceMicroUsdPerHour: 150_000 },
    ]);
    const { code, text } = await plan(documents);
    expect(code).toBe(0);
    expect(text).toContain("1 of 1 pod placed; 1 new node, $0.2000 an hour");
    expect(text).toContain(
      "headroom: buffer shop/spare, 3 pods, $0.1500 an hour, $109.50 a month of the above",
    );
    expect(text).toContain("shop/web-0; room for 3 of shop/spare");
    for (const output of ["text", "json", "markdown"] as const)
      expect((await plan(documents, output)).text).not.toContain("capacity-buffer:");
  });

  it("make a plan even without other pods", async () => {
    const { code, text } = await plan([
      POOL,
      ROOM,
      buffer("{podTemplateRef: {name: room}, replicas: 5}"),
    ]);
    expect(code).toBe(0);
    expect(text).toContain("no pod needs a place; 2 new nodes, $0.4000 an hour");
    expect(text).toContain("headroom: buffer shop/spare, 5 pods, $0.4000 an hour");
  });

  it("get no room if a limit has room only for the other pods", async () => {
    const limited = `${POOL}  limits: {cpu: 4}\n`;
    const found = await planned([
      limited,
      ROOM,
      web(4),
      buffer("{podTemplateRef: {name: room}, replicas: 2}"),
    ]);
    expect(found.totals).toMatchObject({ pods: 4, placed: 4 });
    expect(found.unschedulable).toEqual([]);
    expect(found.headroom).toMatchObject([{ pods: 2, placed: 0, priceMicroUsdPerHour: 0 }]);
    const { text } = await plan([
      limited,
      ROOM,
      web(4),
      buffer("{podTemplateRef: {name: room}, replicas: 2}"),
    ]);
    expect(text).toMatch(/headroom: buffer shop\/spare, 2 pods, no new node; no place for 2: /);
  });

  it.each([
    [
      "a share of a workload",
      web(10),
      "{scalableRef: {kind: Deployment, name: web}, percentage: 25}",
      3,
    ],
    [
      "no such workload",
      web(10),
      "{scalableRef: {kind: StatefulSet, name: web}, percentage: 25}",
      0,
    ],
    ["no such template", web(10), "{podTemplateRef: {name: none}, replicas: 2}", 0],
    ["limits", ROOM, "{podTemplateRef: {name: room}, limits: {cpu: 3500m}}", 3],
  ] as const)("have as many pods as the input says: %s", (_, document, spec, count) => {
    const found = roomIn([document, buffer(spec)]);
    expect(found.count).toBe(count);
    expect(found.notes).toHaveLength(count === 0 ? 1 : 0);
    for (const note of found.notes)
      expect(note).toContain("CapacityBuffer shop/spare is left out: ");
  });

  it("are limited to what ResourceQuotas leave beside other pods", () => {
    const quota = (name: string, status = "{}") => `
apiVersion: v1
kind: ResourceQuota
metadata: {name: ${name}, namespace: shop}
spec: {hard: {requests.cpu: "5"}}
status: ${status}
`;
    const spec = "{podTemplateRef: {name: room}, replicas: 9}";
    const room = (...quotas: readonly string[]) => {
      const documents = [ROOM, web(2), buffer(spec), ...quotas].join("\n---\n");
      const manifests = sortManifests(objectsOf("app.yaml", documents));
      const { pods, notes } = headroomPods(manifests, expandWorkloads(manifests).pods);
      return [pods.length, ...notes];
    };
    const limited = (name: string, count: number) =>
      `CapacityBuffer shop/spare: ResourceQuota ${name} has room for ${count} of 9 pods`;
    expect(room()).toEqual([9]);
    expect(room(quota("written"))).toEqual([3, limited("written", 3)]);
    const used = quota("live", '{hard: {requests.cpu: "5"}, used: {requests.cpu: "4"}}');
    expect(room(used)).toEqual([1, limited("live", 1)]);
  });

  it("of a live cluster have the number of pods that their controller computed", () => {
    const live: Found[] = [ROOM, buffer("{podTemplateRef: {name: room}, replicas: 9}")].flatMap(
      (text) => objectsOf("app.yaml", text).map((one) => ({ ...one, live: true })),
    );
    const conditions = [{ type: "ReadyForProvisioning", status: "True" }];
    Object.assign(live[1]?.object as object, { status: { replicas: 2, conditions } });
    expect(headroomPods(sortManifests(live)).pods).toHaveLength(2);
  });

  it("cause templates and workloads of a cluster to be read only if there are buffers", async () => {
    const asked: string[] = [];
    const client = (buffers: readonly KubeObject[]) => ({
      list: async ({ kind }: Kind) => {
        asked.push(kind);
        return { items: kind === "CapacityBuffer" ? buffers : [], resourceVersion: "1" };
      },
    });
    await readCluster(client([]) as never);
    expect(asked).toContain("CapacityBuffer");
    expect(asked).not.toContain("PodTemplate");
    asked.length = 0;
    const found = objectsOf("b", buffer("{podTemplateRef: {name: room}, replicas: 9}"));
    await readCluster(client(found.map(({ object }) => object)) as never);
    expect(asked).toEqual(
      expect.arrayContaining(["PodTemplate", "Deployment", "ReplicaSet", "StatefulSet", "Job"]),
    );
  });
});

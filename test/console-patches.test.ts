/** The console's patches: each one, applied as written, gives its pods a place. */
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Pod } from "../src/apis/core/pod.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import type { UnplacedPod } from "../src/console/source.ts";
import { awsPoolManifest, ON_DEMAND } from "../src/testing/manifests.ts";
import { withScene } from "./console-scene.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const POOL = awsPoolManifest({
  limits: "{cpu: 40}",
  template: "taints: [{key: team, value: shop, effect: NoSchedule}]",
  requirements: ["{key: kubernetes.io/arch, operator: In, values: [amd64]}", ON_DEMAND],
});

const TOLERATES = { tolerations: [{ key: "team", operator: "Exists" }] };

/** Why a pod has no place, and the object that the patch is about. */
const CASES: readonly (readonly [string, string, Readonly<Record<string, unknown>>])[] = [
  ["tolerate", "deployments.apps", {}],
  [
    "arch",
    "nodepools.karpenter.sh",
    { ...TOLERATES, nodeSelector: { "kubernetes.io/arch": "arm64" } },
  ],
  [
    "label",
    "nodepools.karpenter.sh",
    { ...TOLERATES, nodeSelector: { "example.com/disk": "fast" } },
  ],
  [
    "zone",
    "deployments.apps",
    { ...TOLERATES, nodeSelector: { "topology.kubernetes.io/zone": "mars-1a" } },
  ],
  ["limit", "nodepools.karpenter.sh", { ...TOLERATES, cpu: "60" }],
  ["large", "deployments.apps", { ...TOLERATES, cpu: "9000" }],
];

let world: TestWorld;
beforeAll(async () => {
  world = await openWorld({ isAsked: true, sells: isUsual });
  await world.apply(POOL);
});
afterAll(() => world.close());

function deployment(name: string, { cpu = "3", ...spec }: Readonly<Record<string, unknown>>) {
  const env = [{ name: "PASSWORD", value: "hush" }];
  const container = { name: "main", image: "x", env, resources: { requests: { cpu } } };
  const template = {
    metadata: { labels: { app: name } },
    spec: { ...spec, containers: [{ name: "side", image: "y", env }, container] },
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: { replicas: 2, selector: { matchLabels: { app: name } }, template },
  } as KubeObject;
}

function unplaced(): Promise<readonly UnplacedPod[]> {
  return withScene(world, (scene) => scene.unplaced());
}

/** Parses the line as a shell and kubectl do, and sends the patch. */
async function carryOut(line: string): Promise<void> {
  const script = `kubectl() { printf '%s\\0' "$@"; }; ${line}`;
  const words = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
  const take = (flag: string) => {
    const at = words.indexOf(flag);
    return at < 0 ? undefined : words.splice(at, 2)[1];
  };
  const [namespace, patch = ""] = [take("-n"), take("-p")];
  const [verb, resource = "", name, type] = words;
  expect([verb, type, words.length]).toEqual(["patch", "--type=json", 4]);
  const [plural, ...group] = resource.split(".");
  const base =
    { "": "/api/v1", apps: "/apis/apps/v1" }[group.join(".")] ?? `/apis/${group.join(".")}/v1`;
  const within = namespace === undefined ? "" : `/namespaces/${namespace}`;
  await world.client.raw({
    method: "PATCH",
    path: `${base}${within}/${plural}/${name}`,
    body: JSON.parse(patch),
    headers: { "content-type": "application/json-patch+json" },
  });
}

async function running(name: string): Promise<number> {
  const pods = await world.list<Pod>("Pod", "v1", `app=${name}`);
  return pods.filter(({ status }) => status?.phase === "Running").length;
}

it("the console offers a patch of a toleration for a pod without a workload, and otherwise says what to do", async () => {
  const pod = (name: string, spec: object) =>
    ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", labels: { app: name } },
      spec: {
        containers: [{ name: "main", image: "x", resources: { requests: { cpu: "3" } } }],
        ...spec,
      },
    }) as KubeObject;
  await world.apply(pod("alone", {}));
  await world.apply(pod("astray", { nodeSelector: { "topology.kubernetes.io/zone": "mars-1a" } }));
  await world.advance(15_000);
  const found = new Map((await unplaced()).map((one) => [one.pod, one]));
  for (const line of found.get("default/alone")?.patch ?? []) await carryOut(line);
  await world.until("the pod runs", async () => (await running("alone")) === 1, 300_000);
  expect(found.get("default/astray")).toMatchObject({ byHand: expect.stringMatching(/delete it/) });
});

it.each(CASES)(
  "a pod that waits because of %s is placed after the patch of %s",
  async (name, of, spec) => {
    await world.apply(deployment(name, spec));
    await world.advance(15_000);
    const waiting = (await unplaced()).filter(({ pod }) => pod.startsWith(`default/${name}-`));
    expect(waiting).toHaveLength(2);
    const lines = waiting[0]?.patch ?? [];
    expect(lines.map((line) => line.replace(/^kubectl patch (-n \S+ )?(\S+) .*$/, "$2"))).toEqual([
      of,
    ]);
    expect(lines.join()).not.toContain("hush");
    for (const line of lines) await carryOut(line);
    await world.until(`pods of ${name} run`, async () => (await running(name)) === 2, 300_000);
  },
);

/**
 * Moves without downtime, seen from outside. A workload with `surge` has a ready pod at every moment while its node is
 * consolidated, drifts, expires or is deleted by hand. A workload that cannot be moved this way is evicted, and an
 * event says why.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Event } from "../../src/apis/core/kinds.ts";
import type { Node } from "../../src/apis/core/node.ts";
import { POD, type Pod } from "../../src/apis/core/pod.ts";
import { SILENT } from "../../src/base/log.ts";
import { Random } from "../../src/base/random.ts";
import { LiveMirrors } from "../../src/kube/mirror/mirrors.ts";
import { isUsual, openWorld, type TestWorld } from "../world.ts";

const MINUTE = 60_000;
/** Whether all tests run, as in `npm run calm`. `npm test` runs only the first one. */
const ALL = process.env["CALM"] !== undefined;

const POOL = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: { name: default }
spec:
  role: KarpenterNodeRole-\${CLUSTER_NAME}
  amiSelectorTerms: [{ alias: al2023@latest }]
  subnetSelectorTerms: [{ tags: { karpenter.sh/discovery: "\${CLUSTER_NAME}" } }]
  securityGroupSelectorTerms: [{ tags: { karpenter.sh/discovery: "\${CLUSTER_NAME}" } }]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: default }
spec:
  template:
    metadata: { labels: { pool: default } }
    spec:
      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: default }
      requirements:
        - { key: karpenter.sh/capacity-type, operator: In, values: [on-demand] }
        - { key: karpenter.k8s.aws/instance-family, operator: In, values: [m5] }
  disruption: { consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 30s, budgets: [{ nodes: "100%" }] }
`;

interface App {
  readonly name: string;
  readonly cpu: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly guarded?: boolean;
}

function app({ name, cpu, annotations = {}, spec = {}, guarded = false }: App): string {
  const labels = { app: name };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, annotations },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { pool: "default" },
          containers: [{ name: "app", image: "pause", resources: { requests: { cpu } } }],
        },
      },
      ...spec,
    },
  };
  const guard = {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  };
  return [deployment, ...(guarded ? [guard] : [])]
    .map((one) => JSON.stringify(one))
    .join("\n---\n");
}

const ASKS = { "karpenter.sh/zero-downtime": "true" };

/** Checks each change of a pod, not only some moments. */
async function watchReady(world: TestWorld, name: string) {
  const mirrors = new LiveMirrors({
    client: world.client,
    clock: world.clock,
    random: new Random("watcher"),
    log: SILENT,
  });
  const pods = mirrors.of(POD);
  await mirrors.synced();
  const ready = () =>
    pods
      .list()
      .filter(({ metadata }) => metadata.labels?.["app"] === name)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .filter(({ status }) =>
        status?.conditions?.some((one) => one.type === "Ready" && one.status === "True"),
      ).length;
  const seen = { least: ready(), most: ready(), close: () => mirrors.close() };
  pods.on(() => {
    seen.least = Math.min(seen.least, ready());
    seen.most = Math.max(seen.most, ready());
  });
  return seen;
}

let world: TestWorld;
afterEach(() => world.close());

async function nodes(): Promise<readonly Node[]> {
  return world.list<Node>("Node", "v1", "karpenter.sh/nodepool");
}

async function homeOf(name: string): Promise<string | undefined> {
  const [pod] = await world.list<Pod>("Pod", "v1", `app=${name}`);
  const isUp = pod?.status?.conditions?.some(
    (one) => one.type === "Ready" && one.status === "True",
  );
  return isUp === true ? pod?.spec.nodeName : undefined;
}

async function told(reason: string): Promise<readonly string[]> {
  const events = await world.list<Event>("Event");
  return events.filter((one) => one.reason === reason).map((one) => one.message ?? "");
}

/** `big` and `web` share a large node. After `big` is gone the node is too large for `web`. */
async function outgrown(web: App, flags: Record<string, string> = {}): Promise<string> {
  const granted = { "surge-namespaces": "default", ...flags };
  world = await openWorld({ logLevel: "error", sells: isUsual, flags: granted });
  await world.apply(POOL);
  await world.apply(app({ name: "big", cpu: "6" }));
  await world.apply(app(web));
  await world.until("both run", async () => {
    const homes = [await homeOf("big"), await homeOf("web")];
    return homes.every((one) => one !== undefined);
  });
  const home = (await homeOf("web")) as string;
  expect(await homeOf("big")).toBe(home);
  return home;
}

async function shrink(home: string): Promise<void> {
  await world.scale("big", 0);
  const isGone = async () =>
    !(await nodes()).some(({ metadata }) => metadata.name === home) &&
    (await homeOf("web")) !== undefined;
  await world.until(`${home} is gone and web runs elsewhere`, isGone, 30 * MINUTE);
}

describe("a single replica that is annotated to be moved without downtime", () => {
  it("runs elsewhere before its node is removed, even if its budget allows no eviction", async () => {
    const web = { name: "web", cpu: "500m", annotations: ASKS, guarded: true };
    const home = await outgrown(web);
    const seen = await watchReady(world, "web");
    await shrink(home);
    seen.close();
    expect(seen).toMatchObject({ least: 1, most: 2 });
    const [surged] = await told("SurgedBeforeEviction");
    expect(surged).toContain(`Node ${home} is to go: a new pod of Deployment web starts elsewhere`);
    // No node was created for the old pod, because its new pod already ran.
    expect(await nodes()).toHaveLength(1);
  });

  it.runIf(ALL)("is down for a moment without the annotation", async () => {
    const home = await outgrown({ name: "web", cpu: "500m" });
    const seen = await watchReady(world, "web");
    await shrink(home);
    seen.close();
    expect(seen.least).toBe(0);
  });

  it.runIf(ALL)(
    "is evicted, with an event that says why, where its Deployment cannot run a second pod",
    async () => {
      const spec = { strategy: { type: "Recreate" } };
      const home = await outgrown({ name: "web", cpu: "500m", annotations: ASKS, spec });
      await shrink(home);
      expect(await told("NoSurgeBeforeEviction")).toEqual([
        "Evicted without a new pod beforehand: its Deployment's strategy is Recreate",
      ]);
    },
  );

  it.runIf(ALL)("is evicted after surge-timeout when the new pod does not start", async () => {
    const flags = { "surge-timeout": "3m" };
    const home = await outgrown({ name: "web", cpu: "500m", annotations: ASKS }, flags);
    // The new pod has nowhere to run: EC2 has no capacity.
    const undo = world.box.sandbox.aws.faults.limitCapacity({});
    await world.remove("Node", home);
    await world.until(
      "it is given up",
      async () => (await told("NoSurgeBeforeEviction")).length > 0,
      6 * MINUTE,
    );
    undo();
    expect((await told("NoSurgeBeforeEviction"))[0]).toContain(
      "no new pod was available within 3m0s",
    );
    await world.until(
      "web runs again",
      async () => {
        const now = await homeOf("web");
        return now !== undefined && now !== home;
      },
      20 * MINUTE,
    );
  });

  it.runIf(ALL)(
    "is evicted at once with surge-timeout 0, and the controller makes no request to Deployments",
    async () => {
      const flags = { "surge-timeout": "0" };
      const home = await outgrown({ name: "web", cpu: "500m", annotations: ASKS }, flags);
      await shrink(home);
      expect(await told("NoSurgeBeforeEviction")).toEqual([]);
      // Without the setting the chart leaves out the right. Karpenter has the chart's rights here, and must not try.
      expect(world.log().filter((line) => line.includes("forbidden"))).toEqual([]);
    },
  );
});

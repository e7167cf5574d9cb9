/**
 * A user of upstream's chart changes over in place: `helm upgrade` of the same release with the same values file
 * and our charts. `helm rollback` leads back. Upstream's charts come unchanged from its Go module.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/apis/meta.ts";
import { helmBinary } from "./binaries.ts";
import { type Container, environmentOf, type Helm, helmOf, IMAGE } from "./helm-release.ts";
import { type LiveCluster, openLiveCluster, upstreamCharts } from "./live-cluster.ts";

const NAMESPACE = "default";
const PLACE = ["--namespace", NAMESPACE];
/** Values as upstream's guide tells a user to write them. */
const VALUES = {
  settings: {
    clusterName: "my-cluster",
    interruptionQueue: "my-queue",
    featureGates: { spotToSpotConsolidation: true },
  },
  serviceAccount: { annotations: { "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/k" } },
  controller: { resources: { requests: { cpu: "500m", memory: "700Mi" } } },
  replicas: 3,
  logLevel: "debug",
  tolerations: [{ key: "mine", operator: "Exists" }],
};
const OBJECTS = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  weight: 7
  limits: {cpu: 100}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]
`;

interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly Container[] } };
  };
}

type Specified = KubeObject & { readonly spec?: unknown };

describe("a Helm release of upstream's chart", () => {
  let cluster: LiveCluster;
  let helm: Helm;
  let before: readonly Specified[];

  const theirs = (chart: string) => join(upstreamCharts(), chart);
  const stored = async () =>
    (
      await Promise.all([
        cluster.list<Specified>("NodePool", "karpenter.sh/v1"),
        cluster.list<Specified>("EC2NodeClass", "karpenter.k8s.aws/v1"),
      ])
    ).flat();
  const deployed = async () => {
    const found = await cluster.list<Deployment>("Deployment", "apps/v1");
    expect(found.map(({ metadata }) => metadata.name)).toEqual(["karpenter"]);
    const [one] = found as [Deployment];
    return { ...one, container: one.spec.template.spec.containers[0] as Container };
  };

  beforeAll(async () => {
    cluster = await openLiveCluster(undefined, { bare: true });
    helm = helmOf(await helmBinary((line) => process.stderr.write(`${line}\n`)), cluster);
    await helm.ok(["install", "karpenter-crd", theirs("karpenter-crd"), ...PLACE]);
    await helm.ok(["install", "karpenter", theirs("karpenter"), ...PLACE, "--skip-crds"], VALUES);
    await cluster.apply(OBJECTS);
    before = await stored();
  });
  afterAll(() => cluster?.close());

  it("is not upgraded with the default values of upstream's chart, which include its image", async () => {
    const reused = ["upgrade", "karpenter", "{chart}", ...PLACE, "--skip-crds", "--reuse-values"];
    expect(await helm.fails(reused)).toContain(
      "missing properties 'provider', 'networkPolicy', 'prometheusRule', 'grafana', 'webhook', 'logConfig'",
    );
    expect((await deployed()).container.image).toContain("public.ecr.aws/karpenter/controller");
  });

  it.each([
    ["karpenter-observer", ["settings.observeOnly=true", "webhook.enabled=false", "replicas=1"]],
    ["karpenter-ts", ["settings.preset=upstream-compatible", "replicas=0"]],
  ])(
    "allows %s to be installed beside it, as docs/guide/migrate.md shows",
    async (name, settings) => {
      const set = settings.flatMap((one) => ["--set", one]);
      await helm.ok(
        ["install", name, "{chart}", ...PLACE, "--skip-crds", ...IMAGE, ...set],
        VALUES,
      );
      const found = await cluster.list<Deployment>("Deployment", "apps/v1");
      expect(found.map(({ metadata }) => metadata.name).sort()).toEqual(["karpenter", name]);
      const one = found.find(({ metadata }) => metadata.name === name);
      expect(settings).toContain(`replicas=${one?.spec.replicas}`);
      const environment = environmentOf(
        one?.spec.template.spec.containers[0] as Container,
        NAMESPACE,
      );
      const isObserver = name === "karpenter-observer";
      expect(environment["OBSERVE_ONLY"]).toBe(isObserver ? "true" : undefined);
      expect(environment["PRESET"]).toBe(isObserver ? undefined : "upstream-compatible");
      await helm.ok(["uninstall", name, ...PLACE]);
    },
  );

  it("is upgraded to our chart in place, with the values it was installed with", async () => {
    const old = await deployed();
    await helm.ok(["upgrade", "karpenter-crd", "{crds}", ...PLACE]);
    const kept = "--reset-then-reuse-values";
    const upgrade = ["upgrade", "karpenter", "{chart}", ...PLACE, "--skip-crds", kept];
    expect(await helm.fails(upgrade)).toContain("controller.image.repository is empty");
    await helm.ok([...upgrade, ...IMAGE]);

    const now = await deployed();
    expect(now.metadata.uid).toBe(old.metadata.uid);
    expect(now.container.image).not.toBe(old.container.image);
    expect(now.spec.replicas).toBe(3);
    expect(now.spec.template.spec).toMatchObject({ tolerations: VALUES.tolerations });
    expect(now.container).toMatchObject({ resources: VALUES.controller.resources });
    const environment = environmentOf(now.container, NAMESPACE);
    expect(environment).toMatchObject({
      CLUSTER_NAME: "my-cluster",
      INTERRUPTION_QUEUE: "my-queue",
    });
    expect(environment["FEATURE_GATES"]?.split(",")).toContain("SpotToSpotConsolidation=true");
    const maps = await cluster.list<KubeObject & { readonly data?: object }>("ConfigMap");
    const logging = maps.find(({ metadata }) => metadata.name === "config-logging");
    expect(logging?.data).toMatchObject({ "zap-logger-config": expect.stringContaining("debug") });
    const accounts = await cluster.list("ServiceAccount");
    const own = accounts.find(({ metadata }) => metadata.name === "karpenter");
    expect(own?.metadata.annotations).toMatchObject(VALUES.serviceAccount.annotations);
  });

  it("allows two observers in its namespace, which install no ConfigMap", async () => {
    const watch = ["settings.observeOnly=true", "webhook.enabled=false", "replicas=1"];
    const set = watch.flatMap((one) => ["--set", one]);
    const names = ["karpenter-balanced", "karpenter-frugal"];
    for (const name of names)
      await helm.ok(
        ["install", name, "{chart}", ...PLACE, "--skip-crds", ...IMAGE, ...set],
        VALUES,
      );
    const owners = (await cluster.list("ConfigMap")).map(
      ({ metadata }) => metadata.annotations?.["meta.helm.sh/release-name"],
    );
    expect([...new Set(owners)].sort()).toEqual(["karpenter", undefined]);
    const found = await cluster.list<Deployment>("Deployment", "apps/v1");
    for (const name of names) {
      const one = found.find(({ metadata }) => metadata.name === name);
      const [container] = one?.spec.template.spec.containers ?? [];
      expect(environmentOf(container as Container, NAMESPACE)["LOG_LEVEL"]).toBe("debug");
      await helm.ok(["uninstall", name, ...PLACE]);
    }
  });

  it("has room for a second release that acts, whose ConfigMaps have names of their own", async () => {
    const place = ["next", "{chart}", ...PLACE, "--skip-crds", ...IMAGE, "--set", "replicas=0"];
    expect(await helm.fails(["install", ...place], VALUES)).toContain("cannot be imported");
    await helm.ok(["install", ...place, "--set", "webhook.enabled=false"], VALUES);
    const maps = (await cluster.list("ConfigMap")).filter(
      ({ metadata }) => metadata.annotations?.["meta.helm.sh/release-name"] === "next",
    );
    expect(maps.map(({ metadata }) => metadata.name).sort()).toEqual([
      "next-karpenter-config-logging",
      "next-karpenter-facts",
    ]);
    const found = await cluster.list<Deployment>("Deployment", "apps/v1");
    const one = found.find(({ metadata }) => metadata.name === "next-karpenter");
    const [container] = one?.spec.template.spec.containers ?? [];
    expect(environmentOf(container as Container, NAMESPACE)).toMatchObject({
      CONFIG_LOGGING_NAME: "next-karpenter-config-logging",
      FACTS_NAME: "next-karpenter-facts",
    });
    const roles = await cluster.list<KubeObject & { readonly rules: readonly object[] }>(
      "Role",
      "rbac.authorization.k8s.io/v1",
    );
    const role = roles.find(({ metadata }) => metadata.name === "next-karpenter");
    for (const { metadata } of maps)
      expect(role?.rules).toContainEqual(
        expect.objectContaining({ resourceNames: [metadata.name] }),
      );
    await helm.ok(["uninstall", "next", ...PLACE]);
  });

  it("keeps its NodePools and node classes unchanged", async () => {
    const now = await stored();
    expect(now.map(({ spec }) => spec)).toEqual(before.map(({ spec }) => spec));
    expect(now.map(({ metadata }) => metadata.uid)).toEqual(
      before.map(({ metadata }) => metadata.uid),
    );
  });

  it("returns to upstream's chart by a rollback", async () => {
    await helm.ok(["rollback", "karpenter", "1", ...PLACE]);
    expect((await deployed()).container.image).toContain("public.ecr.aws/karpenter/controller");
    expect((await stored()).length).toBe(before.length);
  });
});

/** `karpenter doctor` and `support-bundle` on a healthy cluster, then with one fault at a time. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEPLOYMENT as DEPLOYMENT_KIND, type Deployment } from "../src/apis/apps/kinds.ts";
import type { EC2NodeClass } from "../src/apis/aws/ec2nodeclass.ts";
import type { Crd } from "../src/apis/core/custom-resource-definition.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { customResourceDefinitions } from "../src/apis/crds/all.ts";
import type { NodePool } from "../src/apis/karpenter/nodepool.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import type { Lease } from "../src/apis/policy/kinds.ts";
import { toRfc3339, toRfc3339Micro } from "../src/base/clock.ts";
import { collectBundle } from "../src/cli/bundle/collect.ts";
import type { CheckedItem } from "../src/cli/checks/checks.ts";
import { doctorChecks } from "../src/cli/doctor/checks.ts";
import type { DoctorFacts } from "../src/cli/doctor/facts.ts";
import { gatherDoctor, runningProvider } from "../src/cli/doctor/gather.ts";
import { quotasOf } from "../src/cli/doctor/quotas.ts";
import { roomOfSubnets, tryAws, tryName } from "../src/cli/doctor/tries.ts";
import { createKubeClient } from "../src/kube/client/kube-client.ts";
import type { KubeRequest } from "../src/kube/transport/transport.ts";
import { AwsError } from "../src/providers/aws/api/call.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJrYXJwZW50ZXIifQ.c2lnbmF0dXJl";
const OBJECTS = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-karpenter-demo
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: karpenter-demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: karpenter-demo}}]
  userData: "export DB_PASSWORD=hunter2"
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
  annotations: {example.com/api-token: plain-secret, example.com/note: "see ${TOKEN}"}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 8
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: app
          image: pause
          args: ["--db=mysql://root:hunter2@db/web"]
          env: [{name: ORDINARY, value: hunter2}]
          resources: {requests: {cpu: "1"}}
---
apiVersion: v1
kind: Secret
metadata: {name: bare}
stringData: {password: hunter2}
`;

const lease = (nowMs: number): Lease => ({
  metadata: { name: "karpenter-leader-election", namespace: "karpenter" },
  spec: {
    holderIdentity: "karpenter-0_1",
    renewTime: toRfc3339Micro(nowMs),
    leaseDurationSeconds: 15,
  },
});
const withStatus = (one: KubeObject, status: object) =>
  ({ ...one, status: { ...(one as EC2NodeClass).status, ...status } }) as KubeObject;
const arch = (...values: string[]) => ({ key: "kubernetes.io/arch", operator: "In", values });
function wanting(pool: KubeObject, requirement: object): KubeObject {
  const { spec } = pool as NodePool;
  const inner = { ...spec.template.spec, requirements: [requirement] };
  return { ...pool, spec: { ...spec, template: { ...spec.template, spec: inner } } } as KubeObject;
}

/** The facts with this condition on every NodePool. */
function withPoolCondition(facts: DoctorFacts, type: string, message: string): DoctorFacts {
  const lastTransitionTime = toRfc3339(facts.nowMs);
  const found = { type, status: "True", reason: "X", message, lastTransitionTime };
  const withIt = (one: KubeObject) => {
    const { conditions = [] } = (one as NodePool).status ?? {};
    return withStatus(one, { conditions: [...conditions, found] });
  };
  return { ...facts, pools: facts.pools.map(withIt) };
}

const isReadyNow = { type: "Ready", status: "True" } as const;
const DEPLOYMENT = {
  metadata: { name: "karpenter", namespace: "karpenter" },
  spec: { replicas: 1, selector: {}, template: { spec: { containers: [] } } },
} as unknown as Deployment;
const controllerPod = (name: string, status: object) =>
  ({
    metadata: { name, namespace: "karpenter" },
    spec: { containers: [] },
    status,
  }) as unknown as Pod;
describe("karpenter doctor and bundle on a cluster", () => {
  let world: TestWorld;
  const sent: KubeRequest[] = [];
  const client = () =>
    createKubeClient({
      close: () => undefined,
      send: (request) => {
        sent.push(request);
        return world.box.sandbox.transport.send(request);
      },
    });
  /** A client that may not list objects of these plurals. */
  const clientWithout = (...plurals: readonly string[]) =>
    createKubeClient({
      close: () => undefined,
      send: async (request) =>
        plurals.some((plural) => request.path.split("?")[0]?.endsWith(`/${plural}`))
          ? { status: 403, headers: {}, body: { kind: "Status", code: 403, message: "forbidden" } }
          : world.box.sandbox.transport.send(request),
    });
  const gathered = (namespace = "karpenter", by = client()) =>
    gatherDoctor(by, world.clock, {
      provider: "aws",
      namespace,
      tries: tryAws(world.box.sandbox.aws.api, "karpenter-demo"),
      roomOf: roomOfSubnets(world.box.sandbox.aws.api),
      quotasOf: quotasOf(world.box.sandbox.aws.api, world.clock),
    });
  /** Facts as on a real cluster, where a pod runs the controller, holds the Lease and answers webhooks. */
  const real = async (): Promise<DoctorFacts> => {
    const facts = await gathered();
    const webhooks = facts.webhooks.map((one) => ({ ...one, ready: 1 }));
    const controllerPods = [controllerPod("karpenter-0", { conditions: [isReadyNow] })];
    const leases = [lease(facts.nowMs)];
    const deployments = [DEPLOYMENT];
    return { ...facts, isSandbox: false, webhooks, leases, deployments, controllerPods };
  };
  const judged = (facts: DoctorFacts) => doctorChecks(facts, customResourceDefinitions());
  const open = (checks: readonly CheckedItem[]) =>
    checks.filter(({ state }) => state === "todo").map(({ area, item }) => `${area}: ${item}`);

  beforeAll(async () => {
    world = await openWorld({ sells: isUsual });
    await world.apply(OBJECTS);
    await world.advance(60_000);
  });
  afterAll(() => world?.close());

  it("the doctor finds no fault in a sound cluster, and checks every right", async () => {
    const facts = await real();
    expect(open(judged(facts))).toEqual([]);
    expect(facts.rights.length).toBeGreaterThan(100);
    expect(facts.tried.filter(({ problem }) => problem !== undefined)).toEqual([]);
    expect(facts.tried.map(({ what }) => what)).toEqual(
      expect.arrayContaining(["AWS credentials", "EC2", "SSM", "prices"]),
    );
    const found = Object.fromEntries(
      judged(facts).map(({ area, item, state }) => [`${area}: ${item}`, state]),
    );
    expect(found).toMatchObject({
      "NodePools: default": "ready",
      "node classes: default": "ready",
      "claims: all": "ready",
      "definitions: nodepools.karpenter.sh": "ready",
      "reachable: interruption queue karpenter-demo": "ready",
      "quotas: L-1216C47A": "ready",
      "quotas: others": "ready",
      "images: default": "ready",
    });
    const rooms = judged(facts).filter(({ area }) => area === "subnets");
    expect(rooms.length).toBeGreaterThan(1);
    for (const { state, says } of rooms) {
      expect(state).toBe("ready");
      expect(says).toMatch(/^[\d,]+ free addresses$/);
    }
  });

  it("the doctor recognises a sandbox, whose Karpenter needs no Lease and no pod behind its webhooks", async () => {
    const facts = await gathered();
    expect(facts).toMatchObject({ isSandbox: true, leases: [] });
    expect(facts.webhooks.filter(({ ready }) => ready === 0).length).toBeGreaterThan(1);
    expect(open(judged(facts))).toEqual([]);
    // With --speed 30 the sandbox's clock is soon hours ahead of the machine's.
    expect(open(judged({ ...facts, skewMs: 100_000_000 }))).toEqual([]);
    const elsewhere = judged({ ...facts, isSandbox: false });
    expect(open(elsewhere)).toEqual(
      expect.arrayContaining(["lease: none", expect.stringMatching(/^webhooks: /)]),
    );
  });

  it("the doctor looks for the Lease and the rights to named objects, as the Deployment names them", async () => {
    const args = [
      "--leader-election-name=mine",
      "--leader-election-namespace=nowhere",
      "--facts-name=next-karpenter-facts",
    ];
    const spec = { containers: [{ name: "controller", image: "karpenter", args }] };
    const labels = { "app.kubernetes.io/name": "karpenter" };
    await world.apply({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "karpenter", namespace: "karpenter", labels },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec },
      },
    } as KubeObject);
    const asked = sent.length;
    const facts = await gathered();
    expect(facts.missingLeaseNamespaces).toEqual(["nowhere"]);
    const reviews = sent
      .slice(asked)
      .flatMap(({ body }) => (body as { spec?: { resourceAttributes?: object } })?.spec ?? [])
      .map(({ resourceAttributes }) => resourceAttributes as Record<string, string>);
    const maps = reviews.filter(({ resource }) => resource === "configmaps");
    expect([...new Set(maps.map(({ name }) => name))].sort()).toEqual([
      "config-logging",
      "karpenter-global-settings",
      "next-karpenter-facts",
    ]);
    const leases = reviews.filter(({ resource }) => resource === "leases");
    expect(leases.map(({ verb, namespace, name }) => `${verb} ${namespace}/${name}`)).toEqual([
      "create nowhere/undefined",
      "get nowhere/mine",
      "update nowhere/mine",
      "patch nowhere/mine",
    ]);
    await world.client.delete(DEPLOYMENT_KIND, { name: "karpenter", namespace: "karpenter" });
  });

  it("the doctor names the node class that a NodePool misses", async () => {
    const facts = await real();
    const missing = (one: KubeObject) => {
      const { spec } = one as NodePool;
      const ref = { ...spec.template.spec.nodeClassRef, name: "gone" };
      const template = { ...spec.template, spec: { ...spec.template.spec, nodeClassRef: ref } };
      const conditions = [
        { type: "Ready", status: "False", message: "NodeClassReady=False" },
        { type: "NodeClassReady", status: "False", message: "NodeClass not found on cluster" },
      ];
      return withStatus({ ...one, spec: { ...spec, template } } as KubeObject, { conditions });
    };
    const [first] = judged({ ...facts, pools: facts.pools.map(missing) }).filter(
      ({ area }) => area === "NodePools",
    );
    expect(first?.says).toBe(
      "It is not ready: NodeClassReady=False: NodeClass not found on cluster: EC2NodeClass gone",
    );
  });

  it("the doctor says that a node class is being deleted, though its conditions call it ready", async () => {
    const facts = await real();
    const classes = facts.classes.map((one) => ({
      ...one,
      metadata: { ...one.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    }));
    const [first] = judged({ ...facts, classes }).filter(({ area }) => area === "node classes");
    expect(first?.says).toContain("It is being deleted since 2026-01-01T00:00:00Z");
  });

  it("the doctor asks for no AWS_REGION in a sandbox", async () => {
    const tried = [{ what: "AWS", skipped: "AWS was not asked: set AWS_REGION" }];
    const facts = { ...(await real()), tried };
    const about = (isSandbox: boolean) =>
      judged({ ...facts, isSandbox }).find(({ area }) => area === "reachable");
    expect(about(false)?.state).toBe("unknown");
    expect(about(true)).toMatchObject({
      state: "ready",
      says: "not asked: a sandbox simulates AWS in its process",
    });
  });

  it("the doctor names a missing namespace, and the namespace in which it finds a Lease", async () => {
    const facts = await gathered("nope");
    const remedy = (of: DoctorFacts) =>
      judged(of).find(({ area, state }) => area === "namespace" && state === "todo")?.remedy;
    expect(remedy(facts)).toContain("kubectl get deployments -A");
    expect(remedy({ ...facts, leases: [lease(facts.nowMs)] })).toContain("is in karpenter");
    expect(remedy(await real())).toBeUndefined();
  });

  it("the doctor checks the rights of another account, and names those that are missing", async () => {
    const of = (serviceAccount: string) =>
      gatherDoctor(client(), world.clock, {
        provider: "aws",
        namespace: "karpenter",
        serviceAccount,
        tries: [],
      });
    const nobody = open(judged(await of("default/nobody")));
    expect(nobody.filter((one) => one.startsWith("rights: "))).toEqual(["rights: default/nobody"]);
    const facts = await of("default/default");
    expect(facts.rights.length).toBeGreaterThan(100);
    const rightsIn = (of: DoctorFacts) =>
      open(judged(of)).filter((one) => one.startsWith("rights: "));
    // In the sandbox's process Karpenter is the administrator, and this account is not its own.
    expect(rightsIn(facts)).toEqual([]);
    const missing = rightsIn({ ...facts, isSandbox: false });
    // One line for each kind, with its verbs.
    const verbs = missing.flatMap((one) => one.replace(/^rights: (.*) \S+$/, "$1").split(", "));
    expect(missing.some((one) => /\bcreate\b.* nodeclaims\.karpenter\.sh$/.test(one))).toBe(true);
    expect(missing.length).toBeLessThan(70);
    expect(verbs.length).toBeGreaterThan(100);
  });

  it("the doctor takes the provider from the Deployment that runs", async () => {
    const running = (...items: readonly object[]) =>
      runningProvider({ list: async () => ({ items }) } as never, "karpenter");
    const withArgs = (args: readonly string[], replicas = 1) => ({
      ...DEPLOYMENT,
      metadata: { ...DEPLOYMENT.metadata, labels: { "app.kubernetes.io/name": "karpenter" } },
      spec: { ...DEPLOYMENT.spec, replicas, template: { spec: { containers: [{ args }] } } },
    });
    expect(await running(withArgs(["controller", "--provider", "kwok"]))).toBe("kwok");
    expect(await running(withArgs(["controller"]))).toBe("aws");
    const stopped = withArgs(["controller", "--provider", "kwok"], 0);
    expect(await running(stopped)).toBe("kwok");
    expect(await running(stopped, withArgs(["controller"]))).toBe("aws");
    expect(await running({ ...DEPLOYMENT, metadata: { name: "web" } })).toBeUndefined();
  });

  it("the doctor quotes the condition that keeps a NodePool from being ready", async () => {
    const conditions = [
      { type: "NodeClassReady", status: "False", message: "NodeClass not found on cluster" },
      { type: "Ready", status: "False", message: "NodeClassReady=False" },
    ];
    const pool = { kind: "NodePool", metadata: { name: "p" }, status: { conditions } };
    const all = judged({ ...(await real()), pools: [pool as KubeObject] });
    const found = all.find(({ area, item }) => area === "NodePools" && item === "p");
    expect(found?.says).toBe(
      "It is not ready: NodeClassReady=False: NodeClass not found on cluster",
    );
    expect(found?.remedy).toBe(
      "mend what its condition NodeClassReady (NodeClass not found on cluster) names; kubectl describe nodepool p shows all",
    );
  });

  it("the doctor says to install the Service again where a pod is ready, and to start the controller where none is", async () => {
    const facts = await real();
    const webhooks = [{ name: "w", service: "a/b", ready: 0 }];
    const remedy = (of: Partial<DoctorFacts>) =>
      judged({ ...facts, webhooks, ...of }).find(({ area }) => area === "webhooks")?.remedy;
    expect(remedy({})).toContain("the Service is missing or does not select it");
    expect(remedy({ controllerPods: [] })).toContain("start the controller");
  });

  it("the doctor says to grant the right to a Lease of another name or namespace, which the chart does not", async () => {
    const facts = await real();
    const rights = facts.rights.map((one) => ({
      ...one,
      allowed: !one.resource.startsWith("leases."),
    }));
    const usual = rights.filter(({ allowed }) => !allowed);
    const elsewhere = usual.map((one) => ({ ...one, namespace: "elsewhere" }));
    const renamed = usual.map((one) => ({ ...one, name: "another" }));
    const remedies = (missing: DoctorFacts["rights"]) =>
      judged({ ...facts, rights: missing })
        .filter(({ area, state }) => area === "rights" && state === "todo")
        .map(({ remedy }) => remedy);
    const ofChart = expect.stringContaining("the chart's roles");
    const ofRules = expect.stringContaining("additionalClusterRoleRules");
    expect(remedies(rights)).toEqual([ofChart]);
    expect(remedies(elsewhere)).toEqual([ofRules]);
    expect(remedies(renamed)).toEqual([ofRules]);
    // Another Karpenter's Lease does not change what is said about the usual one.
    expect(remedies([...usual, ...elsewhere])).toEqual([ofChart, ofRules]);
  });

  it("the doctor says nothing of what it could not read, but that", async () => {
    const facts = await real();
    const kinds = ["customresourcedefinitions", "deployments", "leases", "nodeclaims"];
    const unread = kinds.map((what) => ({ what, why: "forbidden" }));
    const empty = { crds: [], deployments: [], controllerPods: [], leases: [], claims: [] };
    const all = judged({ ...facts, ...empty, unread });
    expect(open(all)).toEqual([]);
    const areas = new Set(all.map(({ area }) => area));
    for (const area of ["definitions", "controller", "lease", "claims"])
      expect(areas).not.toContain(area);
    const reading = all.filter(({ area }) => area === "reading");
    expect(reading.map(({ item, state }) => [item, state])).toEqual(
      kinds.map((what) => [what, "unknown"]),
    );
    expect(new Set(reading.map(({ remedy }) => remedy)).size).toBe(1);
  });

  it("the doctor does not call a webhook dead whose EndpointSlices it may not list", async () => {
    const facts = await gathered("karpenter", clientWithout("endpointslices"));
    const all = judged({ ...facts, isSandbox: false });
    const webhooks = all.filter(({ area }) => area === "webhooks");
    expect(webhooks.length).toBeGreaterThan(1);
    for (const { state, says } of webhooks) {
      expect(state).toBe("unknown");
      expect(says).toMatch(/^whether Service .* has a ready pod could not be read$/);
    }
    expect(all).toContainEqual(
      expect.objectContaining({ area: "reading", item: "endpointslices" }),
    );
  });

  it("the doctor judges no images, but free addresses, where it may not list NodePools", async () => {
    const facts = await gathered("karpenter", clientWithout("nodepools"));
    const areas = new Set(judged(facts).map(({ area }) => area));
    expect(areas).not.toContain("images");
    expect(areas).toContain("subnets");
  });

  it.each<[string, (facts: DoctorFacts) => DoctorFacts, string]>([
    [
      "a clock that is ten minutes off",
      (facts) => ({ ...facts, skewMs: 600_000 }),
      "API server: clock",
    ],
    [
      "a definition that is missing",
      (facts) => ({
        ...facts,
        crds: facts.crds.filter(({ metadata }) => metadata.name !== "nodepools.karpenter.sh"),
      }),
      "definitions: nodepools.karpenter.sh",
    ],
    [
      "a class's definition that is missing",
      (facts) => ({
        ...facts,
        crds: facts.crds.filter(({ spec }) => spec.group !== "karpenter.k8s.aws"),
      }),
      "definitions: ec2nodeclasses.karpenter.k8s.aws",
    ],
    [
      "no Deployment, where nobody leads",
      (facts) => ({ ...facts, deployments: [], controllerPods: [], leases: [] }),
      "controller: none",
    ],
    [
      "a Deployment of no replica",
      (facts) => ({
        ...facts,
        deployments: [{ ...DEPLOYMENT, spec: { ...DEPLOYMENT.spec, replicas: 0 } }],
        controllerPods: [],
        leases: [],
      }),
      "controller: karpenter",
    ],
    [
      "a Deployment without a pod",
      (facts) => ({ ...facts, controllerPods: [] }),
      "controller: pods",
    ],
    [
      "a definition that goes",
      (facts) => ({
        ...facts,
        crds: facts.crds.map((one) => ({
          ...one,
          metadata: { ...one.metadata, deletionTimestamp: "2026-01-05T08:00:00Z" },
        })),
      }),
      "definitions: nodeclaims.karpenter.sh",
    ],
    [
      "a lease that nobody renews",
      (facts) => ({ ...facts, nowMs: facts.nowMs + 120_000 }),
      "lease: karpenter/karpenter-leader-election",
    ],
    ["no lease", (facts) => ({ ...facts, leases: [] }), "lease: none"],
    [
      "a webhook without a pod",
      (facts) => ({ ...facts, webhooks: [{ name: "w", service: "a/b", ready: 0 }] }),
      "webhooks: w",
    ],
    [
      "a pool that is not ready",
      (facts) => ({ ...facts, pools: [{ kind: "NodePool", metadata: { name: "p" } }] }),
      "NodePools: p",
    ],
    [
      "that the brake is on",
      (facts) => withPoolCondition(facts, "InvoluntaryEndsStopped", "More than 5 nodes would end."),
      "ends of nodes: InvoluntaryEndsStopped",
    ],
    [
      "that versions of the API server went back",
      (facts) => withPoolCondition(facts, "VersionsSetBack", "as after a restore of etcd"),
      "ends of nodes: VersionsSetBack",
    ],
    [
      "a claim that does not come up",
      (facts) => ({
        ...facts,
        claims: [{ metadata: { name: "c", creationTimestamp: "2026-01-05T07:00:00Z" } }],
      }),
      "claims: starting",
    ],
    [
      "a claim that does not go",
      (facts) => ({
        ...facts,
        claims: [{ metadata: { name: "c", deletionTimestamp: "2026-01-05T06:00:00Z" } }],
      }),
      "claims: ending",
    ],
    [
      "a class without an image",
      (facts) => ({ ...facts, classes: facts.classes.map((one) => withStatus(one, { amis: [] })) }),
      "images: default",
    ],
    [
      "a pool of an architecture without an image",
      (facts) => ({
        ...facts,
        classes: facts.classes.map((one) =>
          withStatus(one, { amis: [{ id: "ami-1", requirements: [arch("arm64")] }] }),
        ),
        pools: facts.pools.map((one) => wanting(one, arch("amd64"))),
      }),
      "images: default for NodePool default",
    ],
    [
      "a subnet without a free address",
      (facts) => ({
        ...facts,
        classes: facts.classes.map((one) =>
          withStatus(one, { subnets: [{ id: "subnet-1", zone: "us-west-2a" }] }),
        ),
        subnets: [{ id: "subnet-1", free: 0 }],
      }),
      "subnets: default: subnet-1 in us-west-2a",
    ],
    [
      "a subnet that is gone",
      (facts) => ({
        ...facts,
        classes: facts.classes.map((one) =>
          withStatus(one, { subnets: [{ id: "subnet-1", zone: "us-west-2a" }] }),
        ),
        subnets: [{ id: "subnet-2", free: 50 }],
      }),
      "subnets: default: subnet-1 in us-west-2a",
    ],
    [
      "a service of AWS that does not answer",
      (facts) => ({ ...facts, tried: [{ what: "SSM", problem: "ENOTFOUND" }] }),
      "reachable: SSM",
    ],
  ])("the doctor finds %s", async (_, broken, what) => {
    const checks = judged(broken(await real()));
    expect(open(checks)).toContain(what);
    expect(checks.filter(({ state, remedy }) => state === "todo" && remedy === undefined)).toEqual(
      [],
    );
  });

  it("the doctor takes Provisioners and AWSNodeTemplates that the controller knows as ready", async () => {
    const facts = await real();
    const older = (kind: string, status: object) =>
      ({ kind, metadata: { name: kind.toLowerCase() }, ...status }) as unknown as KubeObject;
    const active = { status: { conditions: [{ type: "Active", status: "True" }] } };
    const { pools, classes } = facts;
    const seen = [older("Provisioner", active), older("AWSNodeTemplate", { status: { amis: [] } })];
    const unseen = [older("Provisioner", { status: {} }), older("AWSNodeTemplate", {})];
    const with2 = ([pool, template]: readonly KubeObject[]) =>
      open(
        judged({
          ...facts,
          pools: [...pools, pool] as DoctorFacts["pools"],
          classes: [...classes, template] as DoctorFacts["classes"],
        }),
      );
    const readiness = (lines: readonly string[]) =>
      lines.filter((one) => !one.startsWith("images"));
    expect(readiness(with2(seen))).toEqual([]);
    expect(readiness(with2(unseen))).toEqual([
      "NodePools: provisioner",
      "node classes: awsnodetemplate",
    ]);
  });

  it("the doctor names fields that an older definition drops", async () => {
    const facts = await real();
    const older = facts.crds.map((one) =>
      one.metadata.name === "nodepools.karpenter.sh"
        ? (JSON.parse(
            JSON.stringify(one).replaceAll('"consolidateAfter":{', '"forgotten":{'),
          ) as Crd)
        : one,
    );
    const [found, ...others] = judged({ ...facts, crds: older }).filter(
      ({ area, state }) => area === "definitions" && state !== "ready",
    );
    expect(others).toEqual([]);
    expect(found).toMatchObject({ item: "nodepools.karpenter.sh", state: "differs" });
    expect(found?.says).toContain("spec.disruption.consolidateAfter of v1");
    expect(found?.remedy).toContain("upgrade karpenter-crd first");
  });

  it("the doctor says that the nodes of a NodePool use up its limits", async () => {
    const facts = await real();
    const [pool] = facts.pools as readonly NodePool[];
    const limits = (cpu: string, used: string) =>
      judged({
        ...facts,
        pools: [
          {
            ...pool,
            spec: { ...pool?.spec, limits: { cpu } },
            status: { resources: { cpu: used } },
          },
        ] as unknown as KubeObject[],
      }).filter(({ area }) => area === "limits");
    expect(limits("20", "17")).toEqual([]);
    expect(limits("20", "18")).toMatchObject([
      { item: "default", state: "differs", says: expect.stringContaining("18 of 20 cpu") },
    ]);
    expect(limits("0", "0")).toHaveLength(1);
  });

  it("the doctor reports as different what limits Karpenter without a fault", async () => {
    const facts = await real();
    const class1 = (status: object) => facts.classes.map((one) => withStatus(one, status));
    const amd64 = { id: "ami-1", requirements: [arch("amd64")] };
    const differing = (broken: Partial<DoctorFacts>) =>
      judged({ ...facts, ...broken }).filter(({ state }) => state === "differs");
    expect(differing({ classes: class1({ amis: [amd64] }) })).toMatchObject([
      { area: "images", says: "1 AMI for amd64; nothing of arm64 is launched" },
    ]);
    const pools = facts.pools.map((one) => wanting(one, arch("amd64")));
    expect(differing({ classes: class1({ amis: [amd64] }), pools })).toEqual([]);
    expect(
      differing({ classes: class1({ amis: [{ ...amd64, deprecated: true }] }), pools }),
    ).toMatchObject([{ area: "images", says: "1 AMI for amd64; deprecated: ami-1" }]);
    const subnets = [{ id: "subnet-1", zone: "us-west-2a" }];
    expect(
      differing({ classes: class1({ subnets }), subnets: [{ id: "subnet-1", free: 9 }] }),
    ).toMatchObject([{ area: "subnets", says: "9 free addresses" }]);
    const tried = [{ what: "prices", problem: "ENOTFOUND", instead: "the catalogue is used" }];
    expect(differing({ tried })).toMatchObject([{ says: "ENOTFOUND; the catalogue is used" }]);
  });

  it("the doctor takes it as an answer of SSM that a published parameter does not exist", async () => {
    const { aws } = world.box.sandbox;
    const ssm = {
      getParameter: () => Promise.reject(new AwsError("ParameterNotFound", "not found")),
    };
    const attempts = tryAws({ ...aws.api, ssm } as typeof aws.api, "").map((attempt) => attempt());
    const tried = await Promise.all(attempts);
    expect(tried.find(({ what }) => what === "SSM")).toEqual({ what: "SSM" });
  });

  it("the doctor shows how much of a vCPU quota is used, and gives a remedy from nine tenths on", async () => {
    const { ec2 } = world.box.sandbox.aws.api;
    const about = (facts: DoctorFacts) =>
      judged(facts).filter(({ area, item }) => area === "quotas" && item !== "others");
    const [wide] = about(await gathered());
    const used = Number(/^(\d+) of 1,000,000 vCPUs/.exec(wide?.says ?? "")?.[1]);
    expect(used).toBeGreaterThan(4);
    const limited = async (vcpus: number) => {
      const limit = { capacityType: "on-demand", vcpus } as const;
      const end = world.box.sandbox.aws.faults.limitQuota(limit);
      const [one] = about(await gathered());
      end();
      return one;
    };
    expect(await limited(used * 2)).toMatchObject({ item: "L-1216C47A", state: "ready" });
    expect(await limited(used)).toMatchObject({
      state: "todo",
      says: expect.stringContaining(`${used} of ${used} vCPUs of EC2's quota`),
      remedy: expect.stringContaining("Service Quotas"),
    });
    const refused = {
      ec2,
      servicequotas: { listServiceQuotas: () => Promise.reject(new Error("AccessDenied")) },
    };
    const facts = { ...(await real()), quotas: await quotasOf(refused, world.clock)() };
    expect(about(facts)).toMatchObject([
      { state: "unknown", says: expect.stringMatching(/AccessDenied/) },
    ]);
  });

  it("the doctor names a host name that does not resolve, and a queue that does not exist", async () => {
    const unknown = await tryName("API server", "https://[::1]:6443", () =>
      Promise.reject(new Error("ENOTFOUND")),
    )();
    expect(unknown).toEqual({ what: "API server ::1", problem: "ENOTFOUND" });
    const about = async (queue: string) => {
      const tried = await Promise.all(
        tryAws(world.box.sandbox.aws.api, queue).map((attempt) => attempt()),
      );
      return tried.find(({ what }) => what.startsWith("interruption queue"));
    };
    expect((await about("none"))?.problem).toBeDefined();
    expect((await about("none"))?.remedy).toContain("create the queue");
    expect((await about(""))?.skipped).toContain("--interruption-queue");
  });

  it("a bundle has the objects and events, and no secrets", async () => {
    const { files, missing } = await collectBundle(client(), {
      namespace: "karpenter",
      version: "1.2.3",
    });
    expect(missing).toEqual([expect.stringContaining("the sandbox runs no containers")]);
    const paths = files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        "events.json",
        "objects/ec2nodeclasses.karpenter.k8s.aws.json",
        "objects/nodeclaims.karpenter.sh.json",
        "objects/nodepools.karpenter.sh.json",
        "objects/pods.json",
        "versions.json",
      ]),
    );
    const all = files.map(({ text }) => text).join("\n");
    for (const secret of ["hunter2", "plain-secret", TOKEN, "managedFields"])
      expect(all).not.toContain(secret);
    const read = (path: string) =>
      JSON.parse(files.find((one) => one.path === path)?.text ?? "null");
    expect(read("objects/ec2nodeclasses.karpenter.k8s.aws.json")[0].spec.userData).toBe(
      "<removed>",
    );
    expect(
      read("objects/nodepools.karpenter.sh.json")[0].metadata.annotations["example.com/note"],
    ).toBe("see <removed>");
    expect(
      read("objects/pods.json").some((one: { metadata: { name: string } }) =>
        one.metadata.name.startsWith("web-"),
      ),
    ).toBe(true);
    expect(read("versions.json")).toMatchObject({ karpenter: "1.2.3" });
  });

  it("doctor and bundle change nothing: only access reviews are sent by POST", () => {
    const others = sent.filter(({ method }) => method !== "GET");
    expect(others.length).toBeGreaterThan(100);
    expect(others.filter(({ path }) => !/\/(self)?subjectaccessreviews$/.test(path))).toEqual([]);
    expect(sent.filter(({ path }) => /\/(secrets|configmaps)/.test(path))).toEqual([]);
  });
});

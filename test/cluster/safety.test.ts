/**
 * No machine ends on a doubtful view of the cluster, here on a real control plane. As in test/safety.test.ts, but
 * with kube-apiserver: a kind that is not served, rights that are taken away, a definition that is deleted and
 * applied again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import { condition } from "../../src/apis/karpenter/conditions.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { NODE_CLASS, nodePool, pauseDeployment } from "./kwok-objects.ts";
import { type LiveCluster, openLiveCluster } from "./live-cluster.ts";

const V1 = "karpenter.sh/v1";
const CRD = "apiextensions.k8s.io/v1";
const RBAC = "rbac.authorization.k8s.io/v1";
const CLAIMS = "nodeclaims.karpenter.sh";
/** Three sweeps of the garbage collectors, which first run every ten seconds. */
const LONG_ENOUGH_MS = 35_000;
/** More nodes than the brake allows to be removed. */
const NODES = 7;

interface Definition extends KubeObject {
  readonly spec: {
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

interface Role extends KubeObject {
  readonly rules: readonly { readonly resources?: readonly string[]; readonly verbs: string[] }[];
}

describe("the controller removes no node with a running pod when", () => {
  let cluster: LiveCluster;

  const uids = (objects: readonly KubeObject[]) =>
    objects
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.uid)
      .sort();
  const nodes = () => cluster.list<Node>("Node", "v1", "karpenter.sh/nodepool=default");
  const pods = async () =>
    (await cluster.list<Pod>("Pod", "v1", "app=web")).filter(
      ({ status }) => status?.phase === "Running",
    );
  const picture = async () => ({ nodes: uids(await nodes()), pods: uids(await pods()) });
  const definition = async () =>
    (await cluster.list<Definition>("CustomResourceDefinition", CRD)).find(
      ({ metadata }) => metadata.name === CLAIMS,
    );

  async function serve(served: boolean): Promise<void> {
    const { spec } = (await definition()) as Definition;
    const versions = spec.versions.map((one) => (one.name === "v1" ? { ...one, served } : one));
    await cluster.merge("CustomResourceDefinition", CLAIMS, { spec: { versions } }, CRD);
  }

  /** Expects every node to stay while `fault` lasts, and after `mend`. */
  async function expectNothingEnds(
    fault: () => Promise<void>,
    mend: () => Promise<void>,
  ): Promise<void> {
    const before = await picture();
    expect(before.nodes).toHaveLength(NODES);
    await fault();
    await sleep(LONG_ENOUGH_MS);
    expect(await picture()).toEqual(before);
    await mend();
    await sleep(LONG_ENOUGH_MS);
    expect(await picture()).toEqual(before);
  }

  beforeAll(async () => {
    cluster = await openLiveCluster(undefined, { isRefused: true });
    await cluster.apply(NODE_CLASS);
    await cluster.apply(nodePool("default"));
    const apart = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          {
            labelSelector: { matchLabels: { app: "web" } },
            topologyKey: "kubernetes.io/hostname",
          },
        ],
      },
    };
    await cluster.apply(pauseDeployment("web", { replicas: NODES, spec: { affinity: apart } }));
    await cluster.until("pods run", async () => (await pods()).length === NODES, 180_000);
    const isReady = (one: KubeObject) => condition(one, "Initialized")?.status === "True";
    await cluster.until(
      "all are initialized",
      async () => (await cluster.list("NodeClaim", V1)).filter(isReady).length === NODES,
      60_000,
    );
  });
  afterAll(() => cluster?.close());

  it("NodeClaims are not served for a while, during a run and while a controller starts", async () => {
    await expectNothingEnds(
      async () => {
        await serve(false);
        await sleep(LONG_ENOUGH_MS);
        await cluster.restart();
      },
      () => serve(true),
    );
    await cluster.until(
      "it leads again",
      async () =>
        cluster.log().filter((line) => line.includes("successfully acquired lease")).length === 2,
    );
    expect(cluster.log().join("\n")).toContain("kind is not served, waiting for it");
  });

  it("the right to list NodeClaims and Nodes is withdrawn during a run", async () => {
    const role = (await cluster.list<Role>("ClusterRole", RBAC)).find(
      ({ metadata }) => metadata.name === "karpenter",
    ) as Role;
    const blind = role.rules.map((rule) => {
      const names = ["nodeclaims", "nodes", "pods"];
      const isSeen = rule.resources?.some((one) => names.includes(one)) === true;
      if (!isSeen) return rule;
      return { ...rule, verbs: rule.verbs.filter((verb) => verb !== "list" && verb !== "watch") };
    });
    await expectNothingEnds(
      async () => {
        await cluster.merge("ClusterRole", "karpenter", { rules: blind }, RBAC);
        // An open watch outlives its right. A new process must list, which is refused.
        await cluster.restart();
      },
      () => cluster.merge("ClusterRole", "karpenter", { rules: role.rules }, RBAC),
    );
  });

  it("the definition of NodeClaims is deleted: all nodes stay until a user confirms it", async () => {
    const before = await picture();
    await cluster.remove("CustomResourceDefinition", CLAIMS, CRD);
    await sleep(LONG_ENOUGH_MS);
    expect(await picture()).toEqual(before);
    await cluster.restart();
    await sleep(LONG_ENOUGH_MS);
    expect(await picture()).toEqual(before);
    expect(cluster.log().join("\n")).toContain(
      `customresourcedefinition ${CLAIMS} is being deleted`,
    );
  });

  it("the definition is applied again without its claims: no more nodes are removed than the brake allows", async () => {
    const before = await picture();
    const { metadata, ...rest } = (await definition()) as Definition;
    for (const one of await cluster.list("NodeClaim", V1))
      await cluster.merge("NodeClaim", one.metadata.name, { metadata: { finalizers: null } }, V1);
    await cluster.until("it is gone", async () => (await definition()) === undefined);
    const { name, annotations = {}, labels = {} } = metadata;
    const again = { apiVersion: CRD, kind: "CustomResourceDefinition", spec: rest.spec };
    await cluster.apply({ ...again, metadata: { name, annotations, labels } } as KubeObject);
    await cluster.until(
      "the brake is on",
      async () =>
        condition((await cluster.list("NodePool", V1))[0] as KubeObject, "InvoluntaryEndsStopped")
          ?.status === "True",
      180_000,
    );
    await sleep(LONG_ENOUGH_MS);
    const there = (await nodes()).map(({ metadata }) => metadata.uid);
    expect(before.nodes.filter((uid) => there.includes(uid)).length).toBeGreaterThanOrEqual(
      NODES - 5,
    );
    await cluster.until("all pods run again", async () => (await pods()).length === NODES, 180_000);
  });
});

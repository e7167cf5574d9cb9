/**
 * Seed S2, do-not-disrupt: its old and new names as annotations of pods and nodes. A label of that name has no
 * effect.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { seedObjects } from "../../src/testing/seed-manifests.ts";
import { type Account, CLAIMS, inAccount, type Json, NODES, PODS, POOLS } from "./account.ts";

const LONG_MS = 20 * 60_000;
const KEY = "karpenter.sh/do-not-disrupt";
const QUEUE_URL = "https://sqs.us-west-2.amazonaws.com/123456789012/karpenter-demo";
const MESSAGE = fileURLToPath(
  new URL("../fixtures/seeds/messages/spot-interruption.json", import.meta.url),
);

const names = (objects: readonly Json[]): string[] => objects.map(({ metadata }) => metadata.name);

/** The seed's message, about another instance. */
function interruptionOf(instanceId: string): string {
  return readFileSync(MESSAGE, "utf8").replaceAll("i-0123456789abcdef0", instanceId);
}

/** The seed's pod with larger requests, so that it fills a node of the pool. */
function grown(pod: Json): Json {
  const [container] = pod.spec.containers;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      nodeSelector: { "karpenter.k8s.aws/instance-category": "c" },
      containers: [{ ...container, resources: { requests: { cpu: "3" } } }],
    },
  };
}

describe("S2: do-not-disrupt", () => {
  it("protects nodes by either name of the annotation on a pod, never by a label (S2-24)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await world.applySeed("s2-03-ec2nodeclass.yaml");
      await world.applySeed("s2-01-nodepool.yaml");
      await account.patch(`${POOLS}/default`, {
        spec: {
          template: {
            spec: {
              requirements: [
                { key: "karpenter.k8s.aws/instance-category", operator: "In", values: ["c"] },
                { key: "karpenter.k8s.aws/instance-cpu", operator: "In", values: ["4"] },
              ],
            },
          },
        },
      });
      const guarded: readonly Json[] = seedObjects("s2-07-do-not-disrupt.yaml").map(grown);
      const { annotations: _, ...metadata } = guarded[0].metadata;
      const labelled = {
        ...guarded[0],
        metadata: { ...metadata, name: "labelled", labels: { [KEY]: "true" } },
      };
      for (const pod of [...guarded, labelled]) await world.apply(pod);
      const nodeOf = async (name: string): Promise<string> =>
        (await account.read(`${PODS}/${name}`)).spec.nodeName;
      await world.until("all pods run", async () => {
        const pods = await account.items(PODS);
        return pods.filter(({ status }) => status.phase === "Running").length === 3;
      });
      const guardedNodes = [await nodeOf("guarded-new"), await nodeOf("guarded-old")];
      const labelledNode = await nodeOf("labelled");
      expect(new Set([...guardedNodes, labelledNode]).size).toBe(3);

      // This change makes every node drift.
      await account.patch(`${POOLS}/default`, {
        spec: { template: { metadata: { labels: { team: "team-b" } } } },
      });
      await world.until(
        "the labelled pod's node is gone",
        async () => (await account.send("GET", `${NODES}/${labelledNode}`)).status === 404,
        600_000,
      );
      await world.advance(LONG_MS);
      for (const name of guardedNodes) {
        expect((await account.read(`${NODES}/${name}`)).metadata.deletionTimestamp).toBeUndefined();
      }
      const said = await account.events("Node");
      for (const name of ["new", "old"]) {
        expect(said.filter((text) => text.includes(`default/guarded-${name}`))).not.toEqual([]);
      }
    }));

  it("protects an annotated node, even an empty one, until the annotation is removed (S2-25)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await world.applySeed("s2-03-ec2nodeclass.yaml");
      await world.applySeed("s2-01-nodepool.yaml");
      await account.deploy("app", 1, { cpu: "2" });
      await account.running("app", 1);
      const [claim] = await account.items(CLAIMS);
      const path = `${NODES}/${claim.status.nodeName}`;
      const annotate = (value: string | null) =>
        account.patch(path, { metadata: { annotations: { [KEY]: value } } });
      await annotate("true");
      await world.scale("app", 0);
      await world.advance(600_000);
      expect((await account.read(path)).metadata.deletionTimestamp).toBeUndefined();
      for (const kind of ["Node", "NodeClaim"]) {
        expect((await account.events(kind)).join("\n")).toContain(
          `DisruptionBlocked: Disruption is blocked through the "${KEY}" annotation`,
        );
      }
      await annotate(null);
      await world.until(
        "the node is gone",
        async () => (await account.send("GET", path)).status === 404,
      );
    }));

  const ends: readonly [string, (account: Account, claim: Json) => Promise<unknown>][] = [
    [
      "kubectl delete node",
      (account, { status }) => account.send("DELETE", `${NODES}/${status.nodeName}`),
    ],
    [
      "a spot interruption",
      ({ world }, { status }) =>
        world.box.sandbox.aws.call("sqs", "SendMessage", {
          QueueUrl: QUEUE_URL,
          MessageBody: interruptionOf(status.providerID.split("/").at(-1)),
        }),
    ],
  ];
  it.each(ends)("does not keep an annotated node from %s (S2-25)", (_, end) =>
    inAccount(async (account) => {
      const { world } = account;
      await world.applySeed("s2-03-ec2nodeclass.yaml");
      await world.applySeed("s2-01-nodepool.yaml");
      await account.deploy("app", 1, { cpu: "2" });
      await account.running("app", 1);
      const [claim] = await account.items(CLAIMS);
      const path = `${NODES}/${claim.status.nodeName}`;
      await account.patch(path, { metadata: { annotations: { [KEY]: "true" } } });
      await world.advance(60_000);
      expect((await account.read(path)).metadata.deletionTimestamp).toBeUndefined();
      await end(account, claim);
      await world.until(
        "the node is gone",
        async () => (await account.send("GET", path)).status === 404,
      );
      await account.running("app", 1);
      expect(names(await account.items(CLAIMS))).not.toContain(claim.metadata.name);
    }),
  );
});

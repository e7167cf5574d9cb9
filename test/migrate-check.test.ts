/** `karpenter migrate check` on a whole cluster with nodes: what it reports, and that it writes nothing. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CheckedItem } from "../src/cli/checks/checks.ts";
import { checksOf } from "../src/cli/migrate/run-check.ts";
import { createKubeClient } from "../src/kube/client/kube-client.ts";
import type { KubeRequest } from "../src/kube/transport/transport.ts";
import { awsPoolManifest, webManifest } from "../src/testing/manifests.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const OBJECTS = `${awsPoolManifest()}---${webManifest(8)}`;

describe("migrate check on a cluster", () => {
  let world: TestWorld;
  let folder: string;
  const sent: KubeRequest[] = [];

  const check = async (files: { values?: string; policy?: readonly string[] } = {}) => {
    const { transport } = world.box.sandbox;
    const client = createKubeClient({
      close: () => undefined,
      send: (request) => {
        sent.push(request);
        return transport.send(request);
      },
    });
    return checksOf(client, world.clock.now(), files);
  };
  const states = (all: readonly CheckedItem[], area: string) =>
    Object.fromEntries(
      all.filter((one) => one.area === area).map(({ item, state }) => [item, state]),
    );

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "karpenter-migrate-"));
    world = await openWorld({ sells: isUsual });
    await world.apply(OBJECTS);
    await world.until("a node is there", async () => {
      const claims = await world.list<{
        metadata: { name: string };
        status?: { conditions?: { type: string; status: string }[] };
      }>("NodeClaim", "karpenter.sh/v1");
      return claims.some(({ status }) =>
        status?.conditions?.some((one) => one.type === "Initialized" && one.status === "True"),
      );
    });
  });
  afterAll(async () => {
    await world?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("finds definitions and objects, none of which would drift or lose a field", async () => {
    const all = await check();
    expect(all.filter(({ state }) => state === "todo" || state === "drift")).toEqual([]);
    expect(states(all, "definitions")).toMatchObject({
      "nodepools.karpenter.sh": "ready",
      "ec2nodeclasses.karpenter.k8s.aws": "ready",
      "provisioners.karpenter.sh": "ready",
    });
    expect(all.find(({ item }) => item === "NodeClaim karpenter.sh/v1")?.says).toMatch(/^1 object/);
    expect(states(all, "under way")).toEqual({ nothing: "ready" });
  });

  it("sees a template that was changed under the eyes of a Karpenter that stands still", async () => {
    await world.box.operator.stop();
    await world.apply(
      OBJECTS.replace(
        "    spec:\n      nodeClassRef",
        "    metadata: {labels: {mark: new}}\n    spec:\n      nodeClassRef",
      ),
    );
    const drifting = (await check()).filter(({ state }) => state === "drift");
    expect(drifting.map(({ says }) => says)).toEqual([
      "The node would be replaced: NodePoolDrifted",
    ]);
    await world.box.restart();
  });

  it("reads values and policies from files, and names the file that is at fault", async () => {
    const values = join(folder, "values.yaml");
    const policy = join(folder, "policy.json");
    writeFileSync(values, "settings: {clusterName: demo, preset: upstream-compatible}\n");
    writeFileSync(
      policy,
      JSON.stringify({
        PolicyVersion: { Document: { Statement: { Effect: "Allow", Action: "*" } } },
      }),
    );
    const all = await check({ values, policy: [policy] });
    expect(states(all, "values")).toEqual({ all: "ready" });
    expect(states(all, "IAM policy")).toEqual({ actions: "ready" });
    writeFileSync(policy, "{}");
    await expect(check({ policy: [policy] })).rejects.toThrow(
      `--policy ${policy}: no Allow statement`,
    );
    writeFileSync(values, "- a\n");
    await expect(check({ values })).rejects.toThrow(`--values ${values}: wanted one YAML object`);
  });

  it("has sent nothing but GET", () => {
    expect(sent.length).toBeGreaterThan(10);
    expect(sent.filter(({ method }) => method !== "GET")).toEqual([]);
  });
});

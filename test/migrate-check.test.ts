/** `karpenter migrate check` on a whole cluster with nodes: what it reports, and that it writes nothing. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../src/apis/meta.ts";
import { LEASE, type Lease } from "../src/apis/policy/kinds.ts";
import { toRfc3339Micro } from "../src/base/clock.ts";
import type { CheckedItem } from "../src/cli/checks/checks.ts";
import { checksOf } from "../src/cli/migrate/run-check.ts";
import { handoverRefusal } from "../src/cli/migrate/run-handover.ts";
import { createKubeClient } from "../src/kube/client/kube-client.ts";
import type { KubeRequest } from "../src/kube/transport/transport.ts";
import { awsPoolManifest, webManifest } from "../src/testing/manifests.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const forbidden = (path: string) => ({
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  reason: "Forbidden",
  code: 403,
  message: `User "someone" cannot list ${path}`,
});
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

  it("finds definitions and objects, and nothing that would drift or lose a field", async () => {
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

  it("reports a template that was changed while the old Karpenter was stopped", async () => {
    await world.box.operator.stop();
    await world.apply(
      OBJECTS.replace(
        "    spec:\n      nodeClassRef",
        "    metadata: {labels: {mark: new}}\n    spec:\n      nodeClassRef",
      ),
    );
    const drifting = (await check()).filter(({ state }) => state === "drift");
    expect(drifting.map(({ says }) => says)).toEqual([
      expect.stringMatching(
        /^The node would be replaced: NodePoolDrifted: the pool's template had the hash \d+ when the claim was created, and has \d+ now$/,
      ),
    ]);
    await world.box.restart();
  });

  it("finds the leader in a Lease of another name, which the Deployment's variables set", async () => {
    const labels = { "app.kubernetes.io/name": "karpenter" };
    const env = [
      { name: "LEADER_ELECTION_NAME", value: "mine" },
      { name: "LEADER_ELECTION_NAMESPACE", value: "kube-system" },
    ];
    const spec = { containers: [{ name: "controller", image: "karpenter", env }] };
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
    const lease = (name: string) => ({
      metadata: { name, namespace: "kube-system" },
      spec: { holderIdentity: "me", renewTime: toRfc3339Micro(world.clock.now()) },
    });
    for (const name of ["mine", "another-program"])
      await world.client.create(LEASE, lease(name) as Lease);
    const leases = (await check()).filter(({ item }) => item.startsWith("lease "));
    expect(leases).toMatchObject([{ item: "lease kube-system/mine", says: "held by me" }]);
  });

  it("reads values and policies from files, and names a faulty file", async () => {
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

  it("lets no handover begin while a list is forbidden, and names the right that is missing", async () => {
    expect(handoverRefusal(await check())).toBeUndefined();
    const { transport } = world.box.sandbox;
    const withoutLists = async (...plurals: readonly string[]) => {
      const client = createKubeClient({
        close: () => undefined,
        send: async (request) =>
          plurals.some((plural) => request.path.split("?")[0]?.endsWith(`/${plural}`))
            ? { status: 403, headers: {}, body: forbidden(request.path) }
            : transport.send(request),
      });
      return handoverRefusal(await checksOf(client, world.clock.now(), {}));
    };
    const definitions = await withoutLists("customresourcedefinitions");
    expect(definitions).toMatchObject({ exitCode: 2 });
    expect(definitions?.problems).toEqual([
      expect.stringMatching(/^reading customresourcedefinitions: It could not be read, .*cannot/),
      "the checks need the right to list customresourcedefinitions",
      expect.stringMatching(/^nothing was changed: .*--force/),
    ]);
    const objects = await withoutLists("nodeclaims", "nodepools");
    expect(objects?.message).toContain("the right to list nodeclaims, nodepools");
  });

  it("sends only GET requests", () => {
    expect(sent.length).toBeGreaterThan(10);
    expect(sent.filter(({ method }) => method !== "GET")).toEqual([]);
  });
});

/** `karpenter migrate handover` when it waits or gets stuck; test/cluster/migrate.test.ts covers a whole handover. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEASE, type Lease } from "../src/apis/policy/kinds.ts";
import { toRfc3339Micro } from "../src/base/clock.ts";
import { handOver } from "../src/cli/migrate/handover.ts";
import { CliError } from "../src/cli/program/cli-error.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const deployment = (name: string, replicas: number, args: readonly string[] = []) =>
  JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "controller", image: "karpenter", args }] },
      },
    },
  });

describe("a handover between two Deployments", () => {
  let world: TestWorld;
  const hold = async (holderIdentity: string, name = "karpenter-leader-election") => {
    const ref = { name, namespace: "default" };
    const renewTime = toRfc3339Micro(world.clock.now());
    const spec = { holderIdentity, renewTime, leaseDurationSeconds: 15 };
    await world.client
      .patch(LEASE, ref, { type: "merge", body: { spec } })
      .catch(() => world.client.create(LEASE, { metadata: ref, spec } as Lease));
  };
  const podName = async (app: string) => {
    const [pod] = await world.list("Pod", "v1", `app=${app}`);
    return pod?.metadata.name;
  };
  const replicas = async (name: string) =>
    (
      await world.get<{ metadata: { name: string }; spec: { replicas: number } }>(
        "Deployment",
        name,
        "apps/v1",
      )
    ).spec.replicas;
  /** Lets time pass until the promise has settled. */
  const settled = async <T>(
    promise: Promise<T>,
  ): Promise<{ value?: T; error?: unknown; lines: string[] }> => {
    const lines: string[] = [];
    let result: { value?: T; error?: unknown } | undefined;
    promise.then(
      (value) => {
        result = { value };
      },
      (error: unknown) => {
        result = { error };
      },
    );
    for (let steps = 0; result === undefined && steps < 1_000; steps++)
      await world.clock.advance(500);
    return { ...result, lines };
  };
  const ask = (from: string, to: string, lines: string[] = []) =>
    settled(
      handOver(world.client, world.clock, {
        from,
        to,
        replicas: 1,
        timeoutMs: 60_000,
        say: (line) => lines.push(line),
      }),
    );

  beforeAll(async () => {
    world = await openWorld({ sells: isUsual });
    await world.apply(deployment("old", 2));
    await world.apply(deployment("new", 0));
    await world.until("it runs", async () => (await podName("old")) !== undefined);
  });
  afterAll(() => world?.close());

  it.each([
    ["default/old", "default/old", "--from and --to are both default/old"],
    ["old", "default/new", "--from old: wanted NAMESPACE/NAME of a Deployment"],
    [
      "default/none",
      "default/new",
      "--from default/none: there is no such Deployment; kubectl get deployments -A",
    ],
    [
      "default/old",
      "default/none",
      "--to default/none: there is no such Deployment; install it with replicas=0",
    ],
  ])("from %s to %s is refused, and nothing is scaled", async (from, to, why) => {
    const { error } = await ask(from, to);
    expect((error as Error).message).toContain(why);
    expect(await replicas("old")).toBe(2);
  });

  it("waits for a lease that was not released, and names the way back if nobody acquires it", async () => {
    await hold(`${await podName("old")}_1`);
    const startMs = world.clock.now();
    const lines: string[] = [];
    const { error } = await ask("default/old", "default/new", lines);
    expect(lines).toEqual([
      "scaled default/old from 2 replicas to 0",
      "its pods have ended",
      "its lease is free",
      "scaled default/new to 1 replica",
    ]);
    expect(error).toBeInstanceOf(CliError);
    expect((error as CliError).exitCode).toBe(2);
    expect((error as CliError).message).toContain(
      "to go back: scale default/new to 0, then default/old to 2",
    );
    // Fifteen seconds for the Lease, and one minute of timeout.
    expect(world.clock.now() - startMs).toBeGreaterThan(75_000);
    expect([await replicas("old"), await replicas("new")]).toEqual([0, 1]);
  });

  it("ends once a pod of the other Deployment holds the lease", async () => {
    await hold(`${await podName("new")}_2`);
    const asked = ask("default/new", "default/old");
    await world.clock.advance(40_000);
    const taken = `${await podName("old")}_3`;
    await hold(taken);
    const { value, error } = await asked;
    expect([value, error]).toEqual([taken, undefined]);
    expect([await replicas("new"), await replicas("old")]).toEqual([0, 1]);
  });

  it("ends at once when repeated, because the other Deployment already leads", async () => {
    const lines: string[] = [];
    const asked = ask("default/new", "default/old", lines);
    await world.clock.advance(1_000);
    const leader = `${await podName("old")}_3`;
    await hold(leader);
    expect(await asked).toMatchObject({ value: leader });
    expect(lines.at(-1)).toBe(`${leader} leads`);
  });

  it("reads the Lease that each Deployment names, and ignores a leader of an earlier day", async () => {
    await hold("renamed-1-aaaaa_4", "renamed-lease");
    await world.clock.advance(3_600_000);
    await world.apply(deployment("renamed", 0, ["--leader-election-name=renamed-lease"]));
    await hold(`${await podName("old")}_3`);
    const { error } = await ask("default/old", "default/renamed");
    expect((error as Error).message).toContain(
      "default/renamed took no lease default/renamed-lease within 60 s",
    );
    const asked = ask("default/old", "default/renamed");
    await world.clock.advance(1_000);
    // The node's name, as in the network of the node.
    await hold("node-1_5", "renamed-lease");
    expect(await asked).toMatchObject({ value: "node-1_5" });
  });
});

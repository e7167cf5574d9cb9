/** Seed S3, settings and the pod annotation: batching, the cluster's name and endpoint, do-not-disrupt. */
import { describe, expect, it } from "vitest";
import { requireClusterName } from "../../src/cli/controller/run-controller.ts";
import { parseOptions } from "../../src/operator/settings/parse-options.ts";
import { type Account, CLAIMS, inAccount, type Json, NODES, seed, userDataOf } from "./account.ts";

const BATCH_MAX_MS = 10_000;

async function prepare({ world }: Account): Promise<void> {
  await world.applySeed("s2-03-ec2nodeclass.yaml");
  await world.applySeed("s2-01-nodepool.yaml");
}

/** Milliseconds until the first fleet request from now on. */
async function firstLaunchMs({ world, ...account }: Account): Promise<number> {
  const sinceMs = world.clock.now();
  await world.until("a fleet is asked for", () => account.fleets().length > 0);
  const [call] = world.box.sandbox.aws.journal.calls({ action: "CreateFleet", failed: false });
  return (call?.atMs ?? 0) - sinceMs;
}

const onPool = { cpu: "1", spec: { nodeSelector: { team: "team-a" } } };

describe("S3: the batching of pods", () => {
  it.each([
    ["1s", 1_000],
    ["5s", 5_000],
  ])("ends with a launch once %s brought no other pod (S3-79)", (idle, idleMs) =>
    inAccount(
      async (account) => {
        await prepare(account);
        await account.deploy("one", 1, onPool);
        const tookMs = await firstLaunchMs(account);
        expect(tookMs).toBeGreaterThanOrEqual(idleMs - 200);
        expect(tookMs).toBeLessThan(idleMs + 500);
      },
      { flags: { "batch-idle-duration": idle } },
    ),
  );

  it("waits no longer than the maximum duration while pods keep arriving (S3-78)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await prepare(account);
      const beganMs = world.clock.now();
      for (let index = 0; index < 24; index++) {
        await account.deploy(`app-${index}`, 1, onPool);
        await world.advance(500);
      }
      const [call] = world.box.sandbox.aws.journal.calls({ action: "CreateFleet", failed: false });
      const tookMs = (call?.atMs ?? 0) - beganMs;
      expect(tookMs).toBeLessThanOrEqual(BATCH_MAX_MS + 100);
      expect(tookMs).toBeGreaterThan(BATCH_MAX_MS - 1_000);
      expect(() => parseOptions({ "batch-max-duration": "900ms" }, {})).toThrow(
        "must not be below 1s",
      );
      expect(() => parseOptions({ "batch-idle-duration": "900ms" }, {})).toThrow(
        "must not be below 1s",
      );
    }));
});

describe("S3: settings about the cluster", () => {
  it("set endpoint and name in user data, tags and profile, and EKS gives missing ones (S3-76, S3-77)", async () => {
    const endpoint = "https://0123456789abcdef.gr7.ap-northeast-1.eks.amazonaws.com";
    const story = async (account: Account): Promise<string> => {
      await account.world.apply(
        seed("s2-03-ec2nodeclass.yaml", {
          spec: {
            amiFamily: "AL2",
            subnetSelectorTerms: [{ tags: { "karpenter.sh/discovery": "foo-cluster" } }],
            securityGroupSelectorTerms: [{ tags: { "karpenter.sh/discovery": "foo-cluster" } }],
            role: "KarpenterNodeRole-foo-cluster",
          },
        }),
      );
      await account.world.applySeed("s2-01-nodepool.yaml");
      await account.deploy("one", 1, onPool);
      await firstLaunchMs(account);
      return userDataOf(account.templates()[0]);
    };
    await inAccount(
      async (account) => {
        const text = await story(account);
        expect(text).toContain(`bootstrap.sh 'foo-cluster' --apiserver-endpoint '${endpoint}'`);
        const [instance] = await account.instances();
        expect(await account.tags(instance?.InstanceId ?? "")).toMatchObject({
          "karpenter.sh/managed-by": "foo-cluster",
          "kubernetes.io/cluster/foo-cluster": "owned",
        });
        const name = account.templates()[0]?.LaunchTemplateData.IamInstanceProfile?.Name;
        expect(name).toMatch(/^foo-cluster_/);
      },
      { clusterName: "foo-cluster", flags: { "cluster-endpoint": endpoint } },
    );
    await inAccount(
      async (account) => {
        const text = await story(account);
        const { aws } = account.world.box.sandbox;
        expect(text).toContain(`--apiserver-endpoint '${aws.state.cluster.endpoint}'`);
        expect(aws.journal.inputs("DescribeCluster")).toContainEqual({ name: "foo-cluster" });
      },
      { clusterName: "foo-cluster" },
    );
    expect(() =>
      parseOptions({ "cluster-name": "foo-cluster", "cluster-endpoint": "nonsense" }, {}),
    ).toThrow("not a valid CLUSTER_ENDPOINT URL");
    expect(() => requireClusterName("aws", parseOptions({}, {}))).toThrow(
      "set --cluster-name or CLUSTER_NAME",
    );
  });
});

describe("S3: a long job", () => {
  it("keeps its node while it runs, and no longer (S3-86)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await prepare(account);
      await world.apply({
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: "long" },
        spec: {
          template: {
            metadata: {
              labels: { app: "long" },
              annotations: {
                "karpenter.sh/do-not-disrupt": "true",
                "karpenter-ts.sandbox/run-for": "5m",
              },
            },
            spec: {
              restartPolicy: "Never",
              nodeSelector: { team: "team-a" },
              containers: [{ name: "app", image: "pause", resources: { requests: { cpu: "1" } } }],
            },
          },
        },
      } as Json);
      await account.running("long", 1);
      await world.advance(120_000);
      const blocked =
        'DisruptionBlocked: Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/long-';
      for (const kind of ["Node", "NodeClaim"]) {
        expect(
          (await account.events(kind)).filter((text) => text.startsWith(blocked)),
        ).toHaveLength(1);
      }
      await world.advance(120_000);
      expect(await account.items(`${NODES}?labelSelector=team=team-a`)).toHaveLength(1);
      await world.until("the pod has ended and its node is gone", async () => {
        const nodes = await account.items(`${NODES}?labelSelector=team=team-a`);
        return nodes.length + (await account.items(CLAIMS)).length === 0;
      });
      expect(
        (await account.read("/apis/batch/v1/namespaces/default/jobs/long")).status.succeeded,
      ).toBe(1);
    }));
});

describe("S3 and S4: the interruption queue", () => {
  const queueCalls = ({ world }: Account): readonly string[] =>
    world.box.sandbox.aws.journal.calls({ service: "sqs" }).map(({ action }) => action);

  /** Runs one spot node, and lets AWS announce its end. Returns whether its claim was deleted within two minutes. */
  async function isAnswered(account: Account): Promise<boolean> {
    const { world } = account;
    await world.applySeed("s4-01-spot.yaml");
    await world.applySeed("s4-02-spot-deploy.yaml");
    await account.running("inflate", 2);
    const [claim] = await account.items(CLAIMS);
    const [instance] = await account.instances();
    world.box.sandbox.aws.controls.reclaimSpot(instance?.InstanceId ?? "");
    await world.advance(30_000);
    const { status, body } = await account.send("GET", `${CLAIMS}/${claim.metadata.name}`);
    return status === 404 || body.metadata.deletionTimestamp !== undefined;
  }

  it("is read as soon as its name is set, without any other setting (S3-75, S4-34)", () =>
    inAccount(
      async (account) => {
        expect(await isAnswered(account)).toBe(true);
        const named = account.world.box.sandbox.aws.journal.inputs("GetQueueUrl");
        expect(named).toContainEqual({ QueueName: "karpenter-demo" });
        expect(queueCalls(account)).toContain("ReceiveMessage");
      },
      { flags: { "interruption-queue": "karpenter-demo" } },
    ));

  it("is not read if no name is set (S3-75, S4-34)", () =>
    inAccount(
      async (account) => {
        expect(await isAnswered(account)).toBe(false);
        expect(queueCalls(account)).toEqual([]);
      },
      { flags: { "interruption-queue": "" } },
    ));

  it("may be missing: that is logged, and everything else works (S3-75)", () =>
    inAccount(
      async (account) => {
        await prepare(account);
        await account.deploy("one", 1, onPool);
        await account.running("one", 1);
        expect(account.said("ERROR").filter((line) => line.includes("foo-queue"))).not.toEqual([]);
        expect(queueCalls(account)).not.toContain("ReceiveMessage");
      },
      { flags: { "interruption-queue": "foo-queue" } },
    ));
});

describe("S3: config-logging", () => {
  it("changes the controller's level while it runs, and overrides zap-logger-config (S3-84)", () =>
    inAccount(
      async (account) => {
        const { world } = account;
        const file = "s3-41-config-logging.yaml";
        const written = (): string => world.log().join("\n");
        await prepare(account);
        await account.deploy("quiet", 1, onPool);
        await account.running("quiet", 1);
        expect(written()).not.toContain("DEBUG");

        // The seed sets the level debug for all components; the level of the component itself takes precedence.
        await world.apply(seed(file, { data: { "loglevel.controller": "error" } }));
        const before = world.log().length;
        await account.deploy("silent", 1, onPool);
        await account.running("silent", 1);
        const silent = world
          .log()
          .slice(before)
          .filter((line) => !line.includes("Updating logging level"));
        expect(silent.filter((line) => !line.includes("ERROR"))).toEqual([]);

        await world.apply(seed(file));
        await account.deploy("loud", 1, onPool);
        await account.running("loud", 1);
        expect(written()).toContain("DEBUG");
        expect(
          account.said("Updating logging level for controller from error to debug."),
        ).toHaveLength(1);
      },
      { logLevel: "info" },
    ));
});

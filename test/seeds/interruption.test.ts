/**
 * What happens when AWS reclaims instances: the notice arrives by EventBridge in the queue, and pods run elsewhere
 * before the two minutes are over.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { Event } from "../../src/apis/core/kinds.ts";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { CreateFleetInput } from "../../src/providers/aws/api/launches.ts";
import { isUsual, openWorld, type TestWorld } from "../world.ts";

const MESSAGES = fileURLToPath(new URL("../fixtures/seeds/messages/", import.meta.url));
const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
const QUEUE_URL = "https://sqs.us-west-2.amazonaws.com/123456789012/karpenter-demo";
const V1BETA1 = "karpenter.sh/v1beta1";

const worlds: TestWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

/** A world with the seed's spot pool and its two running pods. */
async function spotWorld(flags: Record<string, string> = {}): Promise<TestWorld> {
  const world = await openWorld({ sells: isUsual, flags });
  worlds.push(world);
  await world.applySeed("s4-01-spot.yaml");
  await world.applySeed("s4-02-spot-deploy.yaml");
  await world.until("both pods run", async () => (await running(world)).length === 2, 300_000);
  return world;
}

async function running(world: TestWorld): Promise<readonly Pod[]> {
  const pods = await world.list<Pod>("Pod");
  return pods.filter(
    (pod) => pod.metadata.namespace === "default" && pod.status?.phase === "Running",
  );
}

async function theClaim(world: TestWorld): Promise<NodeClaim> {
  const claims = await world.list<NodeClaim>("NodeClaim", V1BETA1);
  expect(claims).toHaveLength(1);
  return claims[0] as NodeClaim;
}

function instanceOf(claim: NodeClaim): string {
  return (claim.status?.providerID ?? "").split("/").at(-1) ?? "";
}

/** A fixture message about this instance, sent as `aws sqs send-message` does. */
async function send(world: TestWorld, file: string, instanceId: string): Promise<void> {
  const text = readFileSync(MESSAGES + file, "utf8");
  await sendBody(world, text.replaceAll("i-0123456789abcdef0", instanceId));
}

async function sendBody(world: TestWorld, MessageBody: string): Promise<void> {
  await world.box.sandbox.aws.call("sqs", "SendMessage", { QueueUrl: QUEUE_URL, MessageBody });
  await world.clock.settle();
}

async function waiting(world: TestWorld): Promise<number> {
  const { Attributes } = (await world.box.sandbox.aws.call("sqs", "GetQueueAttributes", {
    QueueUrl: QUEUE_URL,
    AttributeNames: ["All"],
  })) as { Attributes: Record<string, string> };
  return (
    Number(Attributes["ApproximateNumberOfMessages"]) +
    Number(Attributes["ApproximateNumberOfMessagesNotVisible"])
  );
}

function leaving(world: TestWorld, claim: NodeClaim): Promise<boolean> {
  return world.get<NodeClaim>("NodeClaim", claim.metadata.name, V1BETA1).then(
    ({ metadata }) => metadata.deletionTimestamp !== undefined,
    () => true,
  );
}

/** Reasons of Karpenter's events on an object. */
async function told(world: TestWorld, kind: string, name: string): Promise<readonly string[]> {
  const events = await world.list<Event>("Event");
  return events
    .filter((event) => event.involvedObject.kind === kind && event.involvedObject.name === name)
    .map(({ type, reason }) => `${type} ${reason}`);
}

function deletions(world: TestWorld): readonly string[] {
  return world.log().filter((line) => line.includes("initiating delete from interruption message"));
}

/** A pod may only be evicted while the other one runs. */
const ONE_AT_A_TIME = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: inflate, namespace: default }
spec:
  minAvailable: 1
  selector: { matchLabels: { app: inflate } }
`;

describe("a spot interruption", () => {
  it("S4-13, S4-18, S4-19, S4-20, S4-21: is handled at once; pods run elsewhere before the instance ends", async () => {
    const world = await spotWorld();
    await world.apply(ONE_AT_A_TIME);
    const { aws } = world.box.sandbox;
    const claim = await theClaim(world);
    const id = instanceOf(claim);
    const nodeName = claim.status?.nodeName ?? "";
    const noticeMs = world.clock.now();
    const mark = aws.journal.mark;

    aws.controls.reclaimSpot(id);
    await world.clock.settle();
    const doomed = await world.get<NodeClaim>("NodeClaim", claim.metadata.name, V1BETA1);
    expect(doomed.metadata.deletionTimestamp).toBeDefined();
    const node = await world.get<Node>("Node", nodeName);
    const taint = { key: "karpenter.sh/disruption", value: "disrupting", effect: "NoSchedule" };
    expect(node.spec?.taints).toContainEqual(expect.objectContaining(taint));

    let fewest = 2;
    await world.until(
      "both pods run on another node",
      async () => {
        const pods = await running(world);
        fewest = Math.min(fewest, pods.length);
        return pods.length === 2 && pods.every((pod) => pod.spec.nodeName !== nodeName);
      },
      110_000,
    );
    expect(fewest, "the disruption budget held").toBe(1);
    expect(world.clock.now()).toBeLessThan(noticeMs + 120_000);

    const actions = aws.journal.calls({ after: mark }).map(({ action }) => action);
    expect(actions.indexOf("CreateFleet")).toBeGreaterThan(-1);
    expect(actions.indexOf("CreateFleet")).toBeLessThan(actions.indexOf("TerminateInstances"));
    const offers = aws.journal
      .calls({ action: "CreateFleet", after: mark })
      .flatMap(({ input }) => (input as CreateFleetInput).LaunchTemplateConfigs)
      .flatMap(({ Overrides }) => Overrides ?? []);
    const { labels = {} } = claim.metadata;
    const zones = new Set(offers.map(({ AvailabilityZone }) => AvailabilityZone));
    expect(zones).toContain(labels["topology.kubernetes.io/zone"]);
    const again = offers.filter(
      (offer) =>
        offer.InstanceType === labels["node.kubernetes.io/instance-type"] &&
        offer.AvailabilityZone === labels["topology.kubernetes.io/zone"],
    );
    expect(again).toEqual([]);
  });

  it("S4-18: ends the instance after two minutes, also under pods that may not be evicted", async () => {
    const world = await spotWorld();
    await world.apply(ONE_AT_A_TIME.replace("minAvailable: 1", "minAvailable: 2"));
    const { aws } = world.box.sandbox;
    const claim = await theClaim(world);
    const record = aws.state.instances.get(instanceOf(claim));
    aws.controls.reclaimSpot(instanceOf(claim));
    await world.advance(119_000);
    expect(record?.state).toBe("running");
    expect(await running(world)).toHaveLength(2);
    await world.advance(2_000);
    expect(record?.state).toBe("shutting-down");
    await world.until(
      "both pods run on the node that was asked for in time",
      async () => {
        const pods = await running(world);
        return (
          pods.length === 2 && pods.every(({ spec }) => spec.nodeName !== claim.status?.nodeName)
        );
      },
      600_000,
    );
    expect(await world.list("NodeClaim", V1BETA1)).toHaveLength(1);
  });

  it("S4-22: is logged with queue, kind, claim, action and node", async () => {
    const world = await spotWorld();
    const claim = await theClaim(world);
    await send(world, "spot-interruption.json", instanceOf(claim));
    const [line = "", ...more] = deletions(world);
    expect(more).toEqual([]);
    expect(line).toMatch(/\tINFO\tcontroller\.interruption\t/);
    expect(JSON.parse(line.split("\t").at(-1) ?? "")).toMatchObject({
      queue: "karpenter-demo",
      messageKind: "SpotInterruptionKind",
      nodeclaim: claim.metadata.name,
      action: "CordonAndDrain",
      node: claim.status?.nodeName,
    });
    await world.advance(1_000);
    for (const [kind, name] of [
      ["NodeClaim", claim.metadata.name],
      ["Node", claim.status?.nodeName ?? ""],
    ] as const) {
      expect(await told(world, kind, name)).toEqual(
        expect.arrayContaining(["Warning SpotInterrupted", "Warning TerminatingOnInterruption"]),
      );
    }
  });

  it("S4-19, S4-22: taints and drains a Machine's node too, with the log messages of its generation", async () => {
    const world = await openWorld({ sells: isUsual });
    worlds.push(world);
    const spot =
      "requirements:\n    - { key: karpenter.sh/capacity-type, operator: In, values: [spot] }";
    const provisioner = readFileSync(`${EXAMPLES}v1alpha5/provisioner.yaml`, "utf8");
    await world.apply(provisioner.replace("requirements:", spot));
    await world.apply(readFileSync(`${EXAMPLES}inflate.yaml`, "utf8"));
    await world.apply(ONE_AT_A_TIME);
    await world.scale("inflate", 5);
    await world.until("all run", async () => (await running(world)).length === 5, 300_000);
    const [machine] = await world.list<NodeClaim>("Machine", "karpenter.sh/v1alpha5");
    const { name = "" } = machine?.metadata ?? {};
    const node = machine?.status?.nodeName ?? "";
    world.box.sandbox.aws.controls.reclaimSpot(instanceOf(machine as NodeClaim));
    await world.clock.settle();
    expect((await world.get<Node>("Node", node)).spec?.unschedulable).toBe(true);
    expect(JSON.parse(deletions(world)[0]?.split("\t").at(-1) ?? "")).toMatchObject({
      queue: "karpenter-demo",
      messageKind: "SpotInterruptionKind",
      machine: name,
      action: "CordonAndDrain",
      node,
    });
    await world.until(
      "all run elsewhere",
      async () => {
        const pods = await running(world);
        return pods.length === 5 && pods.every(({ spec }) => spec.nodeName !== node);
      },
      115_000,
    );
  });

  it("S4-34: is ignored without a queue", async () => {
    const world = await spotWorld({ "interruption-queue": "" });
    const claim = await theClaim(world);
    world.box.sandbox.aws.controls.reclaimSpot(instanceOf(claim));
    await world.advance(60_000);
    expect(await leaving(world, claim)).toBe(false);
  });
});

describe("the other messages of the interruption queue", () => {
  it.each([
    ["S4-13", "spot-interruption.json", "SpotInterruptionKind", "SpotInterrupted"],
    ["S4-35", "health-scheduled-change.json", "ScheduledChangeKind", "InstanceUnhealthy"],
    ["S4-35", "state-change-stopping.json", "StateChangeKind", "InstanceStopping"],
  ])(
    "%s, S4-37, S4-38: %s drains and replaces the node, logged as %s",
    async (_, file, kind, reason) => {
      const world = await spotWorld();
      const claim = await theClaim(world);
      await send(world, file, instanceOf(claim));
      expect(await leaving(world, claim)).toBe(true);
      expect(deletions(world)).toHaveLength(1);
      expect(deletions(world)[0]).toContain(`"messageKind": "${kind}"`);
      expect(deletions(world)[0]).toContain('"action": "CordonAndDrain"');
      await world.until(
        "both pods run on another node",
        async () => {
          const pods = await running(world);
          return (
            pods.length === 2 && pods.every(({ spec }) => spec.nodeName !== claim.status?.nodeName)
          );
        },
        120_000,
      );
      expect(await told(world, "NodeClaim", claim.metadata.name)).toContain(`Warning ${reason}`);
      expect(await waiting(world)).toBe(0);
    },
  );

  it("S4-36: a rebalance recommendation is only reported", async () => {
    const world = await spotWorld();
    const claim = await theClaim(world);
    await send(world, "rebalance-recommendation.json", instanceOf(claim));
    await world.advance(60_000);
    expect(await leaving(world, claim)).toBe(false);
    for (const [kind, name] of [
      ["NodeClaim", claim.metadata.name],
      ["Node", claim.status?.nodeName ?? ""],
    ] as const) {
      expect(await told(world, kind, name)).toContain("Normal SpotRebalanceRecommendation");
    }
    expect(deletions(world)).toEqual([]);
    expect(await waiting(world)).toBe(0);
  });

  it.each(["pending", "running"])("S4-38: a change to %s is ignored", async (state) => {
    const world = await spotWorld();
    const claim = await theClaim(world);
    const text = readFileSync(`${MESSAGES}state-change-stopping.json`, "utf8");
    await sendBody(
      world,
      text.replaceAll("i-0123456789abcdef0", instanceOf(claim)).replace('"stopping"', `"${state}"`),
    );
    await world.advance(5_000);
    expect(await leaving(world, claim)).toBe(false);
    expect(await waiting(world)).toBe(0);
  });

  it("S4-26: unknown and malformed messages are logged as errors and deleted, without any other effect", async () => {
    const world = await spotWorld();
    const claim = await theClaim(world);
    await send(world, "unknown.json", instanceOf(claim));
    await sendBody(world, "{garbled");
    await world.advance(5_000);
    const errors = world.log().filter((line) => line.includes("parsing message, "));
    expect(errors).toHaveLength(2);
    for (const line of errors) expect(line).toMatch(/\tERROR\tcontroller\.interruption\t/);
    expect(await waiting(world)).toBe(0);
    expect(await leaving(world, claim)).toBe(false);

    const [poll] = world.box.sandbox.aws.journal.calls({ action: "ReceiveMessage" });
    expect(poll?.input).toMatchObject({
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: 20,
      VisibilityTimeout: 20,
    });
  });

  it("S4-27: a queue that denies access is logged as an error until it grants access", async () => {
    const world = await spotWorld();
    const { aws } = world.box.sandbox;
    const claim = await theClaim(world);
    aws.faults.deny("ReceiveMessage", 1);
    await world.advance(25_000);
    const errors = world.log().filter((line) => line.includes("AccessDenied"));
    // One line about the queue, and one about the denied call with its remedy.
    expect(errors.filter((line) => line.includes("karpenter-demo"))).toHaveLength(1);
    expect(errors.filter((line) => line.includes("AWS forbids a call"))).toHaveLength(1);
    expect(errors).toHaveLength(2);
    for (const line of errors) expect(line).toContain("\tERROR\t");
    aws.controls.reclaimSpot(instanceOf(claim));
    await world.advance(5_000);
    expect(await leaving(world, claim)).toBe(true);
  });
});

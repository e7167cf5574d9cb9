/**
 * The process ends before EC2 answers a launch, so instances run that no NodeClaim names. The next process finds
 * them by their tags. A claim that still waits gets its instance, the instance of a deleted claim ends, and
 * nothing is launched twice.
 */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NODE_CLAIM, type NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { type CloudFault, type Replica, startReplica } from "./replicas.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const MINUTE = 60_000;
const EXAMPLES = new URL("../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8").replace(
  'values: ["spot", "on-demand"]',
  'values: ["on-demand"]',
);
/** One pod per node. */
const APART = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8").replace(
  "      containers:",
  `      nodeSelector: { karpenter.sh/nodepool: default }
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector: { matchLabels: { app: inflate } }
              topologyKey: kubernetes.io/hostname
      containers:`,
);

/** EC2 gets the CreateFleet call, but its answer is lost. */
const unheard: CloudFault = async (call, _, go) => {
  const answer = await go();
  return call === "ec2.createFleet" ? new Promise(() => undefined) : answer;
};

let world: TestWorld;
let karpenter: Replica;

/**
 * Six claims whose instances run, but whose launch answers were lost. Six is more than the five ends that the
 * brake allows.
 */
beforeEach(async () => {
  world = await openWorld({ sells: isUsual });
  await world.box.operator.stop();
  await world.apply(POOL);
  await world.apply(APART);
  karpenter = startReplica(world, "first", {}, undefined, { cloudFault: unheard });
  await world.until("it leads", () => karpenter.operator.ready);
  await world.scale("inflate", 6);
  await world.until("6 instances are launched", () => instances().length === 6);
  for (const { status } of await claims()) expect(status?.providerID).toBeUndefined();
});
afterEach(async () => {
  karpenter.kill();
  await world.close();
});

const claims = () => world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");

/** All instances but those of the managed node group. */
function launched() {
  return [...world.box.sandbox.aws.state.instances.values()].filter(
    ({ fleetId }) => fleetId !== undefined,
  );
}

function instances(): readonly string[] {
  return launched()
    .filter(({ state }) => state === "running" || state === "pending")
    .map(({ id }) => id)
    .sort();
}

async function restart(): Promise<void> {
  karpenter.kill();
  await world.advance(MINUTE);
  karpenter = startReplica(world, "second");
  await world.until("the next one leads", () => karpenter.operator.ready);
}

async function named(): Promise<readonly string[]> {
  return (await claims())
    .map(({ status }) => status?.providerID?.split("/").at(-1) ?? "none")
    .sort();
}

describe("a controller that is killed while its launches are unanswered", () => {
  it("leaves no instance of claims that are deleted meanwhile", async () => {
    await world.scale("inflate", 0);
    for (const { metadata } of await claims())
      await world.client.delete(NODE_CLAIM, { name: metadata.name });
    await restart();
    await world.advance(5 * MINUTE);
    expect({ instances: instances(), claims: await named() }).toEqual({
      instances: [],
      claims: [],
    });
    expect(karpenter.log.join("\n")).not.toContain("not ended, there is a doubt");
  });

  it("leaves instances that its successor assigns to the pending claims", async () => {
    const before = instances();
    await restart();
    await world.advance(5 * MINUTE);
    expect(await named()).toEqual(before);
    expect(instances()).toEqual(before);
    expect(launched()).toHaveLength(6);
  });

  it("leads to no second instance if other claims are pending by then", async () => {
    const before = instances();
    const [gone] = await claims();
    await world.client.delete(NODE_CLAIM, { name: gone?.metadata.name ?? "" });
    await world.scale("inflate", 8);
    await restart();
    await world.advance(8 * MINUTE);
    // One instance ended with its claim. Three more were launched: for the deleted claim's pod and for two new pods.
    expect(launched()).toHaveLength(9);
    expect(await named()).toEqual(instances());
    expect(instances()).toHaveLength(8);
    expect(before.filter((id) => instances().includes(id))).toHaveLength(5);
  });
});

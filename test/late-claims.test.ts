/**
 * Claims that never become a usable node. The cloud refuses each launch, does not answer, or answers too late; or
 * the machine never joins, or is never initialized. In each story the claim times out with an event and a metric,
 * its pod gets another node, and no instance is left without a claim.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { Event } from "../src/apis/core/kinds.ts";
import { NODE, type Node } from "../src/apis/core/node.ts";
import type { Pod, Toleration } from "../src/apis/core/pod.ts";
import { condition } from "../src/apis/karpenter/conditions.ts";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import type { NodePool } from "../src/apis/karpenter/nodepool.ts";
import type { AwsApi } from "../src/providers/aws/api/aws-api.ts";
import type { Sandbox } from "../src/sandbox/cluster.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const SECOND = 1_000;
const MINUTE = 60_000;
const EXAMPLES = fileURLToPath(new URL("../examples/", import.meta.url));
const POOL = readFileSync(`${EXAMPLES}v1/nodepool.yaml`, "utf8");
const V1 = "karpenter.sh/v1";
/** A startup taint that only the tests remove. */
const AGENT = { key: "example.com/agent", effect: "NoSchedule" } as const;
const WITH_AGENT = POOL.replace(
  "      expireAfter: 720h\n",
  `      startupTaints: [${JSON.stringify(AGENT)}]\n$&`,
);

let world: TestWorld;
afterEach(() => world.close());

/** One pod that needs a node of Karpenter. `firstFleet` delays or fails the answer to the first fleet. */
async function onePod(
  firstFleet?: () => Promise<unknown>,
  { pool = POOL, tolerations }: { pool?: string; tolerations?: readonly Toleration[] } = {},
): Promise<void> {
  const connectAws = async (sandbox: Sandbox) => answering(sandbox, firstFleet);
  world = await openWorld({ sells: isUsual, connectAws });
  await world.apply(pool);
  await world.advance(10 * SECOND);
  const nodeSelector = { "karpenter.sh/nodepool": "default" };
  const containers = [
    { name: "app", image: "app", resources: { requests: { cpu: "1", memory: "1Gi" } } },
  ];
  const labels = { app: "lonely" };
  await world.apply({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "lonely", namespace: "default" },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { nodeSelector, containers, tolerations } },
    },
  } as never);
}

/** The API of AWS, in which the first fleet is launched but `first` decides about its answer. */
function answering({ aws }: Sandbox, first: (() => Promise<unknown>) | undefined) {
  const { api } = aws;
  if (first === undefined) return api;
  let fleets = 0;
  const createFleet: AwsApi["ec2"]["createFleet"] = async (input) => {
    const answer = await api.ec2.createFleet(input);
    if (fleets++ === 0) await first();
    return answer;
  };
  return { ...api, ec2: { ...api.ec2, createFleet } };
}

async function runs(): Promise<boolean> {
  const pods = await world.list<Pod>("Pod", "v1", "app=lonely");
  return pods.length === 1 && pods[0]?.status?.phase === "Running";
}

async function firstClaim(): Promise<string> {
  let name: string | undefined;
  await world.until("a claim is made", async () => {
    name = (await world.list<NodeClaim>("NodeClaim", V1))[0]?.metadata.name;
    return name !== undefined;
  });
  return name as string;
}

/** How many instances fleets launched, which of them run, and which ones claims name. */
async function machines() {
  const state = (one: { readonly state: string }) => one.state;
  const all = [...world.box.sandbox.aws.state.instances.values()].filter(
    ({ fleetId }) => fleetId !== undefined,
  );
  const claims = await world.list<NodeClaim>("NodeClaim", V1);
  return {
    launched: all.length,
    running: all.filter((one) => state(one) === "running").map(({ id }) => id),
    claimed: claims.map(({ status }) => status?.providerID?.split("/").at(-1)),
  };
}

/** Warnings about a claim, as `reason: message`. */
async function warnings(claim: string): Promise<readonly string[]> {
  const all = await world.list<Event>("Event");
  return all
    .filter(({ type, involvedObject }) => type === "Warning" && involvedObject?.name === claim)
    .map(({ reason, message }) => `${reason}: ${message}`);
}

/** How many claims were deleted for a reason. Waits ask often, so this reads one metric, not the text of all. */
async function given(reason: string): Promise<number> {
  const name = "nodeclaims_disrupted_total";
  const values = await world.box.operator.metrics.valuesOf(name);
  return values
    .filter(({ labels }) => labels["reason"] === reason)
    .reduce((sum, { value }) => sum + value, 0);
}

/** Expects that the claim has timed out, and that only one instance is left, which runs the pod. */
async function isReplaced(claim: string, launched: number): Promise<void> {
  await world.until("the pod runs", runs, 10 * MINUTE);
  await world.advance(30 * MINUTE);
  const left = await world.list<NodeClaim>("NodeClaim", V1);
  expect(left.map(({ metadata }) => metadata.name)).not.toContain(claim);
  const { claimed, running, launched: all } = await machines();
  expect(running).toHaveLength(1);
  expect(claimed).toEqual(running);
  expect(all).toBe(launched);
  expect(await runs()).toBe(true);
}

/** Removes the startup taint from the nodes that exist now. */
async function liftsTaint(): Promise<void> {
  for (const { metadata, spec } of await world.list<Node>("Node")) {
    const taints = spec?.taints?.filter(({ key }) => key !== AGENT.key) ?? [];
    if (taints.length === spec?.taints?.length) continue;
    const patch = { type: "merge", body: { spec: { taints } } } as const;
    await world.client.patch(NODE, { name: metadata.name }, patch);
  }
}

describe("a NodeClaim that takes too long", () => {
  it("is deleted when its launches are refused for five minutes", async () => {
    await onePod();
    const undo = world.box.sandbox.aws.faults.failCalls({
      action: "CreateFleet",
      code: "InternalError",
      message: "An internal error has occurred",
      status: 500,
    });
    const claim = await firstClaim();
    await world.advance(4 * MINUTE + 30 * SECOND);
    expect(await firstClaim()).toBe(claim);
    await world.advance(2 * MINUTE);
    expect(await given("launch_timeout")).toBe(1);
    const [warning] = await warnings(claim);
    expect(warning).toContain("LaunchTimeout: Not launched within 5m0s");
    expect(warning).toContain("An internal error has occurred");
    undo();
    await isReplaced(claim, 1);
  });

  it.each([
    ["never", () => new Promise(() => undefined)],
    ["twenty minutes later", () => world.clock.sleep(20 * MINUTE)],
  ])("is deleted when its launch is answered %s", async (_when, answer) => {
    await onePod(answer);
    const claim = await firstClaim();
    await world.advance(4 * MINUTE + 30 * SECOND);
    expect(await firstClaim()).toBe(claim);
    await world.advance(MINUTE);
    expect(await given("launch_timeout")).toBe(1);
    expect(await warnings(claim)).toEqual([
      "LaunchTimeout: Not launched within 5m0s, its pods are planned anew: the cloud has not answered",
    ]);
    await isReplaced(claim, 2);
  });

  it("is deleted when its instance does not join within fifteen minutes", async () => {
    await onePod();
    world.box.sandbox.aws.faults.neverJoin({ times: 1 });
    const claim = await firstClaim();
    await world.advance(14 * MINUTE + 30 * SECOND);
    expect(await firstClaim()).toBe(claim);
    await world.advance(MINUTE);
    expect(await given("registration_timeout")).toBe(1);
    expect(await warnings(claim)).toEqual([
      "RegistrationTimeout: Its node did not register within 15m0s, its pods are planned anew",
    ]);
    await isReplaced(claim, 2);
  });

  it("is deleted when its node is not usable within half an hour after registration, and its pod gets another", async () => {
    await onePod(undefined, { pool: WITH_AGENT });
    const claim = await firstClaim();
    await world.advance(29 * MINUTE);
    expect(await firstClaim()).toBe(claim);
    await world.until("it is given up", async () => (await given("initialization_timeout")) === 1);
    const told = `was not usable within 30m0s: StartupTaintsExist: StartupTaint "example.com/agent:NoSchedule" still exists`;
    expect(await warnings(claim)).toEqual([
      `InitializationTimeout: Its node registered, but ${told}`,
    ]);
    expect(await warnings("default")).toEqual([
      `InitializationTimeout: The node of nodeclaim ${claim} registered, but ${told}`,
    ]);
    await world.until("another is made", async () => {
      const names = (await world.list<NodeClaim>("NodeClaim", V1)).map((one) => one.metadata.name);
      return names.length === 1 && names[0] !== claim;
    });
    await world.advance(2 * MINUTE);
    await liftsTaint();
    await isReplaced(claim, 2);
    const nodes = await world.list<Node>("Node");
    expect(nodes.filter(({ metadata }) => metadata.labels?.["karpenter.sh/nodepool"])).toHaveLength(
      1,
    );
    const [pool] = await world.list<NodePool>("NodePool", V1);
    expect(condition(pool as NodePool, "NodeRegistrationHealthy")?.status).toBe("True");
  });

  it("is kept when its node is not usable for an hour and a pod runs on it", async () => {
    await onePod(undefined, { pool: WITH_AGENT, tolerations: [{ ...AGENT, operator: "Exists" }] });
    const claim = await firstClaim();
    await world.until("the pod runs", runs, 10 * MINUTE);
    await world.advance(60 * MINUTE);
    expect(await firstClaim()).toBe(claim);
    expect(await given("initialization_timeout")).toBe(0);
    expect(await runs()).toBe(true);
    await world.scale("lonely", 0);
    await world.until("it is given up", async () => (await given("initialization_timeout")) === 1);
    await world.advance(5 * MINUTE);
    expect(await machines()).toMatchObject({ launched: 1, running: [], claimed: [] });
  });
});

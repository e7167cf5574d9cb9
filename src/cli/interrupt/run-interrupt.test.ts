import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { FleetOverride } from "../../providers/aws/api/launches.ts";
import { createSimulatedAws, type SimulatedAws } from "../../sandbox/ec2/simulated-aws.ts";
import { type AwsEndpoint, startAwsEndpoint } from "../../sandbox/ec2/wire/server.ts";
import { interruptCommand } from "../commands/interrupt.ts";
import { type InterruptFlags, runInterrupt } from "./run-interrupt.ts";

const QueueUrl = "https://sqs.us-west-2.amazonaws.com/123456789012/demo";

let endpoint: AwsEndpoint | undefined;
afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
});

interface Account {
  readonly clock: VirtualClock;
  readonly aws: SimulatedAws;
  readonly said: string[];
  readonly run: (flags: Partial<InterruptFlags>) => Promise<void>;
  /** Detail-types in the queue with their age in seconds; state changes left out. */
  readonly messages: () => Promise<readonly string[]>;
}

async function account(): Promise<Account> {
  const clock = new VirtualClock();
  const aws = createSimulatedAws({
    clock,
    random: new Random("interrupt"),
    region: "us-west-2",
    clusterName: "demo",
    kubernetesVersion: "1.34",
    onInstance: () => undefined,
  });
  endpoint = await startAwsEndpoint(aws, { port: 0 });
  const { url } = endpoint;
  const said: string[] = [];
  const startMs = clock.now();
  return {
    clock,
    aws,
    said,
    run: (flags) =>
      runInterrupt(
        {
          delay: 15_000,
          interactive: false,
          clean: "true",
          region: "us-west-2",
          endpointUrl: url,
          ...flags,
        },
        { say: (line) => said.push(line), sleep: () => clock.advance(1_000) },
      ),
    messages: async () => {
      const request = { QueueUrl, MaxNumberOfMessages: 10 };
      const { Messages } = await aws.api.sqs.receiveMessage({
        ...request,
        MessageSystemAttributeNames: ["SentTimestamp"],
      });
      return (Messages ?? [])
        .map(({ Body, Attributes }) => {
          const type = (JSON.parse(Body) as Record<string, string>)["detail-type"];
          return `${(Number(Attributes?.["SentTimestamp"]) - startMs) / 1_000}s ${type}`;
        })
        .filter((line) => !line.includes("State-change"));
    },
  };
}

async function spotInstance({ aws, clock }: Account): Promise<string> {
  const { Images } = await aws.api.ec2.describeImages({ Owners: ["amazon"] });
  await aws.api.ec2.createLaunchTemplate({
    LaunchTemplateName: "one",
    LaunchTemplateData: { ImageId: Images[0]?.ImageId ?? "" },
  } as never);
  const [subnet] = aws.state.subnets.values();
  const override = { InstanceType: "m5.large", SubnetId: subnet?.id } as FleetOverride;
  const LaunchTemplateSpecification = { LaunchTemplateName: "one", Version: "$Latest" };
  const { Instances } = await aws.api.ec2.createFleet({
    Type: "instant",
    LaunchTemplateConfigs: [{ LaunchTemplateSpecification, Overrides: [override] }],
    TargetCapacitySpecification: { DefaultTargetCapacityType: "spot", TotalTargetCapacity: 1 },
  } as never);
  await clock.advance(5_000);
  return Instances?.[0]?.InstanceIds[0] ?? "";
}

describe("karpenter interrupt", () => {
  it("S4-15: is a program with the name that tutorials use", () => {
    const root = new URL("../../../", import.meta.url);
    const { bin } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
    const file = fileURLToPath(new URL(bin["ec2-spot-interrupter"], root));
    expect(readFileSync(file, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
    const help = execFileSync(process.execPath, [file, "--help"], { encoding: "utf8" });
    expect(help).toContain("Usage: ec2-spot-interrupter [options]");
    for (const flag of ["--instance-ids", "-d,", "-i,", "-c,", "-p,", "-r,"])
      expect(help).toContain(flag);
  });

  it("S4-14, S4-18: sends the rebalance recommendation, the notice 15 s later, and ends the instance 120 s after that", async () => {
    const world = await account();
    const { aws, clock } = world;
    const id = await spotInstance(world);
    await world.run({ instanceIds: [id] });
    expect(await world.messages()).toEqual([
      "5s EC2 Instance Rebalance Recommendation",
      "20s EC2 Spot Instance Interruption Warning",
    ]);
    expect(world.said).toHaveLength(2);
    await clock.advance(119_000);
    expect(aws.state.instances.get(id)?.state).toBe("running");
    await clock.advance(1_000);
    expect(aws.state.instances.get(id)?.state).toBe("shutting-down");
  });

  it("deletes its experiment template, unless a flag keeps it", async () => {
    const world = await account();
    const id = await spotInstance(world);
    await world.run({ instanceIds: [id], delay: 0 });
    expect(world.aws.journal.counts()).toMatchObject({ DeleteExperimentTemplate: 1 });
    await world.run({ instanceIds: [id], delay: 0, clean: "false" });
    expect(world.aws.journal.counts()).toMatchObject({ DeleteExperimentTemplate: 1 });
  });

  it("says which instances cannot be interrupted, and sends nothing", async () => {
    const world = await account();
    const [id = ""] = world.aws.state.instances.keys();
    await expect(world.run({ instanceIds: [id] })).rejects.toThrow(
      `${id} is no running spot instance`,
    );
    expect(world.said).toEqual([]);
    expect(await world.messages()).toEqual([]);
  });

  it("refuses an invalid instance id, and says what a valid one looks like", () => {
    const command = interruptCommand()
      .exitOverride()
      .configureOutput({ writeErr: () => undefined });
    expect(() =>
      command.parse(["--instance-ids", "i-0123456789abcdef0,foo"], { from: "user" }),
    ).toThrow(/--instance-ids.*"foo" is not an instance id: give ids like i-0123456789abcdef0/);
  });

  it("says that no sandbox answers, or that the address is invalid", async () => {
    const { run } = await account();
    const instanceIds = ["i-0123456789abcdef0"];
    await expect(run({ instanceIds, endpointUrl: "http://127.0.0.1:1" })).rejects.toThrow(
      /^cannot reach the simulated AWS at http:\/\/127.0.0.1:1: .*; is the sandbox running\?$/,
    );
    await expect(run({ instanceIds, endpointUrl: "nope" })).rejects.toThrow(
      '--endpoint-url: wanted an address such as http://127.0.0.1:4566, got "nope"',
    );
  });

  it("names a missing flag or variable in one sentence", async () => {
    const world = await account();
    await expect(world.run({})).rejects.toThrow(/--instance-ids/);
    await expect(world.run({ endpointUrl: "" })).rejects.toThrow(/AWS_ENDPOINT_URL/);
    await endpoint?.close();
    await expect(world.run({ instanceIds: ["i-12345678"] })).rejects.toThrow(
      /is the sandbox running/,
    );
    endpoint = undefined;
  });
});

import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import type { SimulatedAws } from "../../sandbox/ec2/simulated-aws.ts";
import { type AwsWorld, awsWorld, ec2NodeClass } from "../../testing/aws-world.ts";
import type { GetParameterInput } from "./api.ts";
import type { AwsSettings } from "./parts.ts";

let world: AwsWorld;
afterEach(() => world.stop());

async function begin(
  settings: Partial<AwsSettings>,
  prepare: (aws: SimulatedAws) => void = () => undefined,
): Promise<void> {
  world = await awsWorld(settings, { prepare });
  const amiSelectorTerms = [{ alias: "bottlerocket@latest" }];
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass({ amiSelectorTerms }));
  await world.clock.advance(1_000);
}

describe("settings of the provider", () => {
  it.each([
    ["DescribeImages", "amiRefreshMs"],
    ["DescribeSubnets", "subnetRefreshMs"],
  ] as const)("how often %s is called: %s", async (action, setting) => {
    await begin({ [setting]: 300_000 });
    const calls = (): number => world.aws.journal.calls({ action }).length;
    const first = calls();
    await world.clock.advance(240_000);
    expect(calls()).toBe(first);
    await world.clock.advance(120_000);
    expect(calls()).toBeGreaterThan(first);
  });

  it("whether EKS tells the version: its images are looked up", async () => {
    const upgraded = (aws: SimulatedAws): object =>
      Object.assign(aws.state.cluster, { version: "1.31" });
    await begin({ eksControlPlane: true }, upgraded);
    const asked = (): string =>
      world.aws.journal.inputs<GetParameterInput>("GetParameter").at(-1)?.Name ?? "";
    expect(asked()).toContain("/aws-k8s-1.31");
    await world.stop();
    await begin({}, upgraded);
    expect(asked()).toContain("/aws-k8s-1.34");
  });
});

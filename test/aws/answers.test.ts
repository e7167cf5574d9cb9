/**
 * Compares the sandbox's simulated AWS with moto, because every other test trusts the simulated one. Both get the
 * same calls over HTTP through the SDK. Their answers may differ only as `differences.ts` lists, and each listed
 * difference must exist.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import { createSimulatedAws } from "../../src/sandbox/ec2/simulated-aws.ts";
import { type AwsEndpoint, startAwsEndpoint } from "../../src/sandbox/ec2/wire/server.ts";
import { ask, CLUSTER, differences, QUESTIONS, type Side } from "./answers.ts";
import { DIFFERENCES, type KnownDifference } from "./differences.ts";
import { type Moto, REGION, sdk, startMoto } from "./moto.ts";
import { prepareAccount } from "./moto-world.ts";

let moto: Moto;
let endpoint: AwsEndpoint;
let ours: Side;
let theirs: Side;

beforeAll(async () => {
  moto = await startMoto();
  const account = await prepareAccount(moto);
  theirs = {
    api: moto.api,
    subnetId: account.subnetIds[0] ?? "",
    securityGroupId: account.securityGroupId,
    imageId: account.imageIds[0] ?? "",
    queueUrl: account.queueUrl,
  };
  const clock = new SystemClock();
  const aws = createSimulatedAws({
    clock,
    random: new Random("answers"),
    region: REGION,
    clusterName: CLUSTER,
    kubernetesVersion: "1.34",
    nodeGroup: false,
    onInstance: () => undefined,
  });
  const tags = [{ Key: "karpenter.sh/discovery", Value: CLUSTER }];
  for (const id of [...aws.state.subnets.keys(), ...aws.state.securityGroups.keys()]) {
    aws.controls.untag(id, [...(aws.state.tags.get(id)?.keys() ?? [])]);
  }
  const subnetIds = [...aws.state.subnets.keys()].slice(0, 3);
  for (const id of subnetIds) aws.controls.tag(id, tags);
  const securityGroupId = aws.controls.addSecurityGroup({ name: "nodes", tags });
  const imageId = aws.controls.addImage({ name: "nodes-x86_64", tags });
  endpoint = await startAwsEndpoint(aws, { port: 0 });
  const queueUrl = `${endpoint.url}/123456789012/${CLUSTER}`;
  const subnetId = subnetIds[0] ?? "";
  ours = { api: sdk(endpoint.url), subnetId, securityGroupId, imageId, queueUrl };
});

afterAll(async () => {
  await endpoint?.close();
  await moto?.close();
});

const met = new Set<KnownDifference>();

describe("the simulated AWS and moto", () => {
  it.each(Object.entries(QUESTIONS))("give equal answers: %s", async (name, question) => {
    const [mine, other] = [await ask(question, ours), await ask(question, theirs)];
    const unknown = differences(mine, other).filter((line) => {
      const known = DIFFERENCES.find(({ where }) => where.test(`${name}: ${line}`));
      if (known !== undefined) met.add(known);
      return known === undefined;
    });
    expect(unknown).toEqual([]);
  });

  it("differ only as listed, and each listed difference exists", () => {
    expect(DIFFERENCES.filter((known) => !met.has(known)).map(({ where }) => where)).toEqual([]);
  });
});

/**
 * EC2 answers that it launched nothing, and launches. One pod gets one machine, not a machine with each try. If EC2
 * also lists the machines late, it gets one of them, and the others end.
 */
import { readFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import type { CreateFleetInput } from "../src/providers/aws/api/launches.ts";
import { type CloudFault, type Replica, startReplica } from "./replicas.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const MINUTE = 60_000;
const EXAMPLES = new URL("../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8");
const INFLATE = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8").replace(
  "      containers:",
  "      nodeSelector: { karpenter.sh/nodepool: default }\n      containers:",
);

let world: TestWorld;
let karpenter: Replica;
afterEach(async () => {
  karpenter.kill();
  await world.close();
});

/** A cluster whose EC2 denies each launch. */
async function denied(denies: CloudFault): Promise<void> {
  world = await openWorld({ sells: isUsual });
  await world.box.operator.stop();
  await world.apply(POOL);
  await world.apply(INFLATE);
  karpenter = startReplica(world, "karpenter", {}, undefined, { cloudFault: denies });
  await world.until("it leads", () => karpenter.operator.ready);
}

function machines(): readonly string[] {
  return [...world.box.sandbox.aws.state.instances.values()]
    .filter(({ fleetId, state }) => fleetId !== undefined && /pending|running/.test(state))
    .map(({ id, zone }) => `aws:///${zone}/${id}`);
}

async function claimed(): Promise<readonly (string | undefined)[]> {
  const claims = await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
  return claims.map(({ status }) => status?.providerID);
}

/** EC2's error for an offering without capacity. */
const SOLD_OUT = { ErrorCode: "InsufficientInstanceCapacity", ErrorMessage: "none is left" };

it("launches one machine for a pod although EC2 denies each launch", async () => {
  await denied(async (call, _, go) => {
    const answer = await go();
    if (call !== "ec2.createFleet") return answer;
    return { FleetId: "fleet-0", Instances: [], Errors: [SOLD_OUT] };
  });
  await world.scale("inflate", 1);
  await world.advance(3 * MINUTE);
  expect(machines()).toHaveLength(1);
  expect(await claimed()).toEqual(machines());
});

/** Several CPU seconds: `npm run calm` plays it. denied-launches.test.ts plays the same without a cluster. */
it.runIf(process.env["CALM"] !== undefined)(
  "gives a pod one of the machines that EC2 denied and lists 40 seconds late, and ends the others",
  async () => {
    await denied(async (call, input, go) => {
      const answer = await go();
      if (call !== "ec2.createFleet") return answer;
      // One offering is sold out. The next claim asks for the others.
      const [first] = (input as CreateFleetInput).LaunchTemplateConfigs;
      const LaunchTemplateAndOverrides = { Overrides: first?.Overrides[0] };
      return {
        FleetId: "fleet-0",
        Instances: [],
        Errors: [{ ...SOLD_OUT, LaunchTemplateAndOverrides }],
      };
    });
    // From now on the leaked instances are searched only every two minutes.
    await world.advance(4 * MINUTE);
    world.box.sandbox.aws.faults.tellLate(40_000);
    await world.scale("inflate", 1);
    await world.advance(4 * MINUTE);
    expect(world.box.sandbox.aws.state.instances.size).toBeLessThan(20);
    const [owned = "none", ...more] = await claimed();
    expect([machines().includes(owned), more]).toEqual([true, []]);
    await world.advance(6 * MINUTE);
    expect(machines().length).toBeLessThan(6);
  },
);

/** EC2 answers that it launched nothing, and launches. One pod gets one machine, not a machine with each try. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { NodeClaim } from "../src/apis/karpenter/nodeclaim.ts";
import { type CloudFault, startReplica } from "./replicas.ts";
import { isUsual, openWorld } from "./world.ts";

const MINUTE = 60_000;
const EXAMPLES = new URL("../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8");
const INFLATE = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8").replace(
  "      containers:",
  "      nodeSelector: { karpenter.sh/nodepool: default }\n      containers:",
);

it("launches one machine for a pod although EC2 denies each launch", async () => {
  const denies: CloudFault = async (call, _, go) => {
    const answer = await go();
    if (call !== "ec2.createFleet") return answer;
    const Errors = [{ ErrorCode: "InsufficientInstanceCapacity", ErrorMessage: "none is left" }];
    return { FleetId: "fleet-0", Instances: [], Errors };
  };
  const world = await openWorld({ sells: isUsual });
  await world.box.operator.stop();
  await world.apply(POOL);
  await world.apply(INFLATE);
  const karpenter = startReplica(world, "karpenter", {}, undefined, { cloudFault: denies });
  try {
    await world.until("it leads", () => karpenter.operator.ready);
    await world.scale("inflate", 1);
    await world.advance(3 * MINUTE);
    const machines = [...world.box.sandbox.aws.state.instances.values()]
      .filter(({ fleetId }) => fleetId !== undefined)
      .map(({ id, zone }) => `aws:///${zone}/${id}`);
    const claims = await world.list<NodeClaim>("NodeClaim", "karpenter.sh/v1");
    expect(machines).toHaveLength(1);
    expect(claims.map(({ status }) => status?.providerID)).toEqual(machines);
  } finally {
    karpenter.kill();
    await world.close();
  }
});

/** Joined calls to EC2 that are answered only in part, or fail in part. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { AwsError, allPages } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import { Ec2Batches } from "./ec2-batches.ts";

const IDS = ["i-1", "i-2", "i-3", "i-4", "i-5"];

function batchesOf(ec2: Partial<Record<keyof Ec2Api, unknown>>): [Ec2Batches, VirtualClock] {
  const clock = new VirtualClock();
  const metrics = { observe: () => undefined };
  return [new Ec2Batches(ec2 as unknown as Ec2Api, clock, metrics), clock];
}

/** The result of each termination after some time. */
async function ended(
  terminateInstances: (input: { InstanceIds: readonly string[] }) => Promise<unknown>,
): Promise<readonly string[]> {
  const [batches, clock] = batchesOf({ terminateInstances });
  const all = Promise.allSettled(IDS.map((id) => batches.terminate(id)));
  await clock.advance(60_000);
  return (await all).map(({ status }) => status);
}

describe("instances that are terminated in one call", () => {
  it.each([
    "OperationNotPermitted",
    "UnauthorizedOperation",
    "InvalidInstanceID.NotFound",
    "IncorrectInstanceState",
  ])("all end, except the one for which EC2 refuses the call with %s", async (code) => {
    const gone = new Set<string>();
    let calls = 0;
    const outcomes = await ended(async ({ InstanceIds }) => {
      calls++;
      if (InstanceIds.includes("i-2")) throw new AwsError(code, "i-2 may not be terminated");
      for (const id of InstanceIds) gone.add(id);
    });
    expect([...gone].sort()).toEqual(["i-1", "i-3", "i-4", "i-5"]);
    expect(outcomes).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled", "fulfilled"]);
    expect(calls).toBeLessThanOrEqual(7);
  });

  it("are not retried one by one if EC2 does not answer", async () => {
    let calls = 0;
    const outcomes = await ended(async () => {
      calls++;
      throw new AwsError("InternalError", "try later", 500);
    });
    expect([calls, new Set(outcomes)]).toEqual([1, new Set(["rejected"])]);
  });
});

describe("an instance that EC2 describes twice", () => {
  it.each([
    ["terminated", "running"],
    ["running", "terminated"],
  ])("in the states %s and %s counts as running", async (...states) => {
    const describeInstances = async () => ({
      Reservations: states.map((Name) => ({
        Instances: [{ InstanceId: "i-1", State: { Name } }],
      })),
    });
    const [batches, clock] = batchesOf({ describeInstances });
    const found = batches.instance("i-1");
    await clock.advance(2_000);
    expect((await found)?.State.Name).toBe("running");
  });
});

describe("pages of an AWS answer", () => {
  it("that start again from the beginning are an error, not an endless list", async () => {
    await expect(allPages(async () => ({ NextToken: "again" }))).rejects.toThrow("page again");
  });
});

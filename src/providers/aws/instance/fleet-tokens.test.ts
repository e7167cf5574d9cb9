import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { CreateFleetInput, CreateFleetOutput } from "../api/launches.ts";
import { Ec2Batches } from "./ec2-batches.ts";

const INPUT: CreateFleetInput = {
  Type: "instant",
  LaunchTemplateConfigs: [],
  TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: "spot" },
};

/** EC2's fleets, as far as the tests need them: a repeated token gets the first answer. */
class Fleets {
  readonly answers = new Map<string, CreateFleetOutput>();
  launched = 0;
  /** Number of instances that EC2 can launch. */
  stock = 100;

  readonly api = {
    describeInstances: async () => ({ Reservations: [] }),
    createFleet: async ({ ClientToken = "", TargetCapacitySpecification }: CreateFleetInput) => {
      const known = this.answers.get(ClientToken);
      if (known !== undefined) return known;
      const count = Math.min(this.stock, TargetCapacitySpecification.TotalTargetCapacity);
      const InstanceIds = Array.from({ length: count }, () => `i-${++this.launched}`);
      this.stock -= count;
      const answer = { Instances: [{ InstanceIds }], Errors: [] } as unknown as CreateFleetOutput;
      this.answers.set(ClientToken, answer);
      return answer;
    },
  } as unknown as Ec2Api;
}

/** The instances that a new process gets for these claims. */
async function launch(fleets: Fleets, uids: readonly string[], batches = begin(fleets)) {
  const answers = Promise.all(uids.map((uid) => batches.ask(uid)));
  await batches.clock.advance(2_000);
  return (await answers).map(({ instance }) => instance?.instanceId);
}

function begin(fleets: Fleets) {
  const clock = new VirtualClock();
  const batches = new Ec2Batches(fleets.api, clock, { observe: () => undefined });
  return { clock, ask: (uid: string) => batches.createFleet(INPUT, uid) };
}

describe("the client token of a launch", () => {
  it("gives claims the same instances when a new process repeats the call, in any order of claims", async () => {
    const fleets = new Fleets();
    expect(await launch(fleets, ["a", "b", "c"])).toEqual(["i-1", "i-2", "i-3"]);
    // The claims may get the instances in any order, because nothing has used these yet.
    expect(await launch(fleets, ["c", "a", "b"])).toEqual(["i-1", "i-2", "i-3"]);
    expect(fleets.launched).toBe(3);
  });

  it("differs for other claims", async () => {
    const fleets = new Fleets();
    await launch(fleets, ["a"]);
    expect(await launch(fleets, ["b"])).toEqual(["i-2"]);
    expect(await launch(fleets, ["a", "b"])).toEqual(["i-3", "i-4"]);
  });

  it("changes after an answer without an instance, because EC2 would repeat that answer", async () => {
    const fleets = new Fleets();
    fleets.stock = 0;
    const process = begin(fleets);
    expect(await launch(fleets, ["a"], process)).toEqual([undefined]);
    fleets.stock = 1;
    expect(await launch(fleets, ["a"], process)).toEqual(["i-1"]);
  });

  it("has a length that EC2 accepts, and is absent for a claim without a UID", async () => {
    const fleets = new Fleets();
    await launch(fleets, ["a"]);
    await launch(fleets, [""]);
    expect([...fleets.answers.keys()].map(({ length }) => length)).toEqual([43, 0]);
  });
});

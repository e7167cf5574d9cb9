import { describe, expect, it } from "vitest";
import type { Logger } from "../../../base/log.ts";
import { SILENT } from "../../../base/log.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { AwsError } from "../api/call.ts";
import { AnswersById } from "./by-id.ts";

/** EC2 with the subnets `subnet-<number>`. `refusal`: EC2's error for a call with a word instead of the number. */
function world(refusal: AwsError) {
  const clock = new VirtualClock();
  const errors: unknown[] = [];
  const calls: string[] = [];
  const log: Logger = { ...SILENT, error: (message, fields) => errors.push([message, fields]) };
  const answers = new AnswersById<string>({
    ...{ clock, log, refreshMs: 60_000 },
    kind: {
      plural: "subnets",
      idPrefix: "subnet-",
      idOf: (id) => id,
      byId: async (ids) => {
        calls.push(ids.join());
        if (ids.some((id) => !/\d$/.test(id))) throw refusal;
        return ids;
      },
    },
  });
  const ask = async (...ids: string[]): Promise<readonly unknown[]> => {
    const [found] = await Promise.all([answers.ask(ids), clock.advance(2_000)]);
    return ids.map((id) => found.get(id));
  };
  return { clock, errors, calls, ask };
}

describe("one bad ID among others", () => {
  it.each([
    ["InvalidSubnetID.NotFound", "unknown", 0],
    ["AuthFailure", undefined, 1],
    ["InvalidParameterValue", undefined, 1],
  ])("keeps EC2 from answering about no other: %s", async (code, expected, logged) => {
    const { ask, errors } = world(new AwsError(code, "no"));
    expect(await ask("subnet-1", "subnet-x", "subnet-2")).toEqual([
      "subnet-1",
      expected,
      "subnet-2",
    ]);
    expect(errors).toHaveLength(logged);
  });

  it("is not asked for if it is no ID of the kind", async () => {
    const { ask, calls } = world(new AwsError("InvalidSubnetID.Malformed", "no"));
    expect(await ask("subnet-1", "vpc-x", "subnet-x;")).toEqual(["subnet-1", undefined, undefined]);
    expect(calls).toEqual(["subnet-1"]);
  });

  it("costs few calls, however many there are", async () => {
    const { ask, calls, errors } = world(new AwsError("InvalidSubnetID.NotFound", "no"));
    await ask(...Array.from({ length: 200 }, (_, at) => `subnet-${at}x`));
    expect(calls.length).toBeLessThanOrEqual(50);
    expect(errors).toHaveLength(1);
  });
});

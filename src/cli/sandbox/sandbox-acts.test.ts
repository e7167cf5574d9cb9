import { afterEach, describe, expect, it } from "vitest";
import { isUsual, openWorld, type TestWorld } from "../../../test/world.ts";
import { type Actor, actOnSandbox, sandboxActs } from "./sandbox-acts.ts";

let world: TestWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

/** A clock that records how it was called. */
function toldClock() {
  const told: string[] = [];
  const clock = {
    now: () => 0,
    sleep: () => Promise.resolve(),
    speed: 1,
    isPaused: false,
    pause: () => {
      clock.isPaused = true;
    },
    resume: () => {
      clock.isPaused = false;
    },
    jump: (ms: number) => {
      told.push(`jump ${ms}`);
      return Promise.resolve();
    },
  };
  return { clock, told };
}

function actorWith(clock: Actor["clock"], of?: TestWorld): Actor & { readonly said: string[] } {
  const said: string[] = [];
  const box = of?.box ?? ({ sandbox: {} } as Actor["box"]);
  return {
    box,
    provider: "aws",
    clusterName: "karpenter-demo",
    clock,
    trace: () => undefined,
    say: (line) => said.push(line),
    said,
  };
}

describe("actions of the sandbox's dashboard on time", () => {
  it("pause the clock, resume it, jump, and set the speed", async () => {
    const { clock, told } = toldClock();
    const actor = actorWith(clock);
    expect(await actOnSandbox(actor, "pause", {})).toBe("time stands still");
    expect(await actOnSandbox(actor, "pause", {})).toBe("time goes on, at speed 1");
    expect(await actOnSandbox(actor, "jump", { time: "90s" })).toBe("1m30s have passed");
    expect(told).toEqual(["jump 90000"]);
    await actOnSandbox(actor, "speed", { speed: "30" });
    expect(clock.speed).toBe(30);
  });

  it.each([
    ["jump", { time: "" }],
    ["jump", { time: "25h" }],
    ["jump", { time: "-1s" }],
    ["speed", { speed: "0" }],
    ["speed", { speed: "fast" }],
    ["speed", {}],
  ])("refuse %s with %j, and say which values are allowed", async (name, values) => {
    await expect(actOnSandbox(actorWith(toldClock().clock), name, values)).rejects.toThrow(
      /wanted a (?:duration|number)/,
    );
  });
});

describe("the action that takes capacity from a zone", () => {
  it("offers the zones of the region, and refuses other zones with a list of the allowed ones", async () => {
    world = await openWorld({ sells: isUsual });
    const actor = actorWith(toldClock().clock, world);
    const zones = world.box.sandbox.aws.state.zones.map(({ ZoneName }) => ZoneName);
    const act = sandboxActs("aws", zones).find(({ name }) => name === "noCapacity");
    expect(act?.choices).toEqual({ zone: zones });
    expect(zones).toContain("us-west-2a");
    for (const zone of ["", "us-west-2z", "*a"])
      await expect(actOnSandbox(actor, "noCapacity", { zone })).rejects.toThrow(
        `zone: "${zone}": wanted one of us-west-2a, `,
      );
    expect(await actOnSandbox(actor, "noCapacity", { zone: "us-west-2a" })).toBe(
      "nothing more can be launched in us-west-2a",
    );
  });
});

describe("the actions on a Node and on a Deployment", () => {
  it("name the field and the object if there is none of that name", async () => {
    world = await openWorld({ sells: isUsual });
    const actor = actorWith(toldClock().clock, world);
    await expect(actOnSandbox(actor, "break", { node: "none" })).rejects.toThrow(
      'node: "none": there is no such Node',
    );
    await expect(
      actOnSandbox(actor, "scale", { deployment: "shop/none", replicas: "3" }),
    ).rejects.toThrow('deployment: "shop/none": there is no such Deployment');
  });
});

describe("the action that plays a scenario", () => {
  it("offers the scenarios of the present provider by name", () => {
    const of = (provider: "aws" | "kwok") =>
      sandboxActs(provider, []).find(({ name }) => name === "story")?.choices?.["story"];
    expect(of("aws")).toContain("first-light");
    expect(of("aws")).not.toContain("kwok-story");
    expect(of("kwok")).toEqual(["kwok-calm", "kwok-families", "kwok-story"]);
    expect(of("aws")).not.toContain("inflate");
  });

  it("plays one scenario at a time on the running cluster, and says how it ended", async () => {
    world = await openWorld({ sells: isUsual });
    const { clock } = world;
    const time = {
      ...toldClock().clock,
      now: () => clock.now(),
      sleep: (ms: number) => clock.sleep(ms),
    };
    const actor = actorWith(time, world);
    expect(await actOnSandbox(actor, "story", { story: "first-light" })).toMatch(/first light: /);
    await expect(actOnSandbox(actor, "story", { story: "drift" })).rejects.toThrow(
      "first-light is being played",
    );
    await world.until("the story ends", () => actor.said.length > 0, 7_200_000);
    expect(actor.said).toEqual([
      expect.stringMatching(/^story first-light ended: \d+ promises kept$/),
    ]);
    await expect(actOnSandbox(actor, "story", { story: "none" })).rejects.toThrow("wanted one of");
  });
});

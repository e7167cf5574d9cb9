import { describe, expect, it } from "vitest";
import { CLAIM_ACTS, INSTANCE_ACTS, PROVIDER_ACTS } from "./acts.ts";
import { Brake } from "./brake.ts";
import { brakeMessage, type EndFacts, judge } from "./judge.ts";

const SOUND: EndFacts = {
  staleViews: [],
  clockSkewMs: 1_000,
  isProvenGone: false,
  name: "a",
  machine: "a",
  fleet: 10,
  nowMs: 0,
};
const brake = () => new Brake({ nodes: 1, percent: 0 });
const code = (...args: Parameters<typeof judge>) => {
  const verdict = judge(...args);
  return verdict.go ? "go" : verdict.doubt.code;
};

describe("the judge of acts that cannot be taken back", () => {
  it.each(Object.entries({ ...CLAIM_ACTS, ...INSTANCE_ACTS }))("lets %s go on proof", (_, act) => {
    expect(code(act, SOUND, brake())).toBe("go");
  });

  it("holds every act while a view that it rests on is not current", () => {
    expect(code(CLAIM_ACTS.expired, { ...SOUND, staleViews: ["pools"] }, brake())).toBe(
      "staleView",
    );
  });

  it("holds what follows from the time of day while the clocks disagree, either way", () => {
    for (const clockSkewMs of [301_000, -301_000]) {
      expect(code(CLAIM_ACTS.expired, { ...SOUND, clockSkewMs }, brake())).toBe("clock");
      expect(code(CLAIM_ACTS.disrupted, { ...SOUND, clockSkewMs }, brake())).toBe("go");
    }
    expect(code(CLAIM_ACTS.expired, { ...SOUND, clockSkewMs: undefined }, brake())).toBe("go");
  });

  it("brakes what nobody asked for, unless the cloud itself names the end", () => {
    const one = brake();
    expect(code(CLAIM_ACTS.instanceGone, SOUND, one)).toBe("go");
    // The Node belongs to an instance that is counted already, so it may be deleted.
    expect(code(INSTANCE_ACTS.claimless, { ...SOUND, name: "node-a" }, one)).toBe("go");
    expect(code(CLAIM_ACTS.instanceGone, { ...SOUND, machine: "b" }, one)).toBe("brake");
    expect(code(CLAIM_ACTS.instanceGone, { ...SOUND, machine: "b", isProvenGone: true }, one)).toBe(
      "go",
    );
    expect(code(CLAIM_ACTS.staticScaleDown, SOUND, one)).toBe("go");
  });

  it("says of how many nodes only where there are more of them than may end", () => {
    expect(brakeMessage(5, 0)).toMatch(/^More than 5 nodes would end/);
    expect(brakeMessage(5, 5)).toMatch(/^More than 5 nodes would end/);
    expect(brakeMessage(6, 60)).toMatch(/^More than 6 of 60 nodes would end/);
  });

  it("brakes only acts that nobody asked for", () => {
    const acts = [...Object.values({ ...CLAIM_ACTS, ...INSTANCE_ACTS }), ...PROVIDER_ACTS];
    for (const act of acts) if (act.braked) expect(act.askedBy).toBe("nobody");
  });
});

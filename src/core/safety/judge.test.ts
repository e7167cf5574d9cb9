import { describe, expect, it } from "vitest";
import { CLAIM_ACTS, INSTANCE_ACTS, PROVIDER_ACTS } from "./acts.ts";
import { Brake } from "./brake.ts";
import { brakeMessage, type EndFacts, judge } from "./judge.ts";

const SOUND: EndFacts = {
  staleViews: [],
  isSetBack: false,
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

describe("the judge of irreversible actions", () => {
  it.each(Object.entries({ ...CLAIM_ACTS, ...INSTANCE_ACTS }))("lets %s go on proof", (_, act) => {
    expect(code(act, SOUND, brake())).toBe("go");
  });

  it("holds every action while a view that it depends on is stale", () => {
    expect(code(CLAIM_ACTS.expired, { ...SOUND, staleViews: ["pools"] }, brake())).toBe(
      "staleView",
    );
  });

  it("says that versions went back, and the remedy, rather than that a view is stale", () => {
    const facts = { ...SOUND, staleViews: ["nodes"], isSetBack: true } as const;
    const verdict = judge(CLAIM_ACTS.expired, facts, brake());
    expect(verdict).toMatchObject({ go: false, doubt: { code: "setBack" } });
    expect(verdict.go ? "" : verdict.doubt.message).toMatch(/restore of etcd.*rollout restart/);
  });

  it("holds actions that depend on the time of day while clocks disagree", () => {
    for (const clockSkewMs of [301_000, -301_000]) {
      expect(code(CLAIM_ACTS.expired, { ...SOUND, clockSkewMs }, brake())).toBe("clock");
      expect(code(CLAIM_ACTS.disrupted, { ...SOUND, clockSkewMs }, brake())).toBe("go");
    }
    expect(code(CLAIM_ACTS.expired, { ...SOUND, clockSkewMs: undefined }, brake())).toBe("go");
  });

  it("applies the brake to unrequested terminations, unless the cloud proves the instance gone", () => {
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

  it("names the number of nodes only if it is larger than the limit", () => {
    expect(brakeMessage(5, 0)).toMatch(/^More than 5 nodes would end/);
    expect(brakeMessage(5, 5)).toMatch(/^More than 5 nodes would end/);
    expect(brakeMessage(6, 60)).toMatch(/^More than 6 of 60 nodes would end/);
  });

  it("applies the brake only to actions that nobody requested", () => {
    const acts = [...Object.values({ ...CLAIM_ACTS, ...INSTANCE_ACTS }), ...PROVIDER_ACTS];
    for (const act of acts) if (act.braked) expect(act.askedBy).toBe("nobody");
  });
});

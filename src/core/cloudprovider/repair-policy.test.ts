import { describe, expect, it } from "vitest";
import { type RepairPolicy, repairPoliciesProblem } from "./repair-policy.ts";

const FALLBACK: RepairPolicy = {
  conditionType: "Gpu",
  conditionStatus: "False",
  tolerationMs: 1_000,
  priority: 0,
  action: "ReplaceNode",
};
const READ_ONLY: RepairPolicy = {
  ...FALLBACK,
  conditionType: "Disk",
  reasonRegex: { source: "ReadOnly", matches: (text) => text.includes("ReadOnly") },
};

describe("repairPoliciesProblem", () => {
  it("names the policy, field and value that is invalid", () => {
    expect(repairPoliciesProblem([READ_ONLY, FALLBACK])).toBeUndefined();
    const problems = [
      [],
      [READ_ONLY],
      [FALLBACK, FALLBACK],
      [FALLBACK, { ...READ_ONLY, priority: 101 }],
      [FALLBACK, { ...READ_ONLY, tolerationMs: -1 }],
      [FALLBACK, { ...READ_ONLY, terminationGracePeriodMs: -1 }],
      [{ ...FALLBACK, action: "RebootNode" as const }],
    ].map(repairPoliciesProblem);
    expect(problems).toEqual([
      "the cloud provider has no repair policies; turn the feature gate NodeRepair off",
      "0 repair policies have no reasonRegex; give all but one of them a reasonRegex",
      "2 repair policies have no reasonRegex; give all but one of them a reasonRegex",
      "repair policy 1 (Disk=False): priority is 101; give a whole number from 0 to 100",
      "repair policy 1 (Disk=False): tolerationDuration is -1 ms; give 0 or more",
      "repair policy 1 (Disk=False): terminationGracePeriod is -1 ms; give 0 or more, or leave it out",
      "repair policy 0 (Gpu=False): action is RebootNode without a reasonRegex; the fallback must be ReplaceNode",
    ]);
  });
});

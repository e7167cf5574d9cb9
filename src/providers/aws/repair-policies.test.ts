import { describe, expect, it } from "vitest";
import { repairPoliciesProblem } from "../../core/cloudprovider/repair-policy.ts";
import { KWOK_REPAIR_POLICIES } from "../kwok/repair-policies.ts";
import { awsRepairPolicies } from "./repair-policies.ts";

const CURRENT = awsRepairPolicies({ rebootForRepair: true, legacy: false });

/** For a node with a broken device: the action of repair, and after how many minutes. */
function treated(reason: string, policies = CURRENT): readonly (readonly [string, number])[] {
  return policies
    .filter(({ conditionType }) => conditionType === "AcceleratedHardwareReady")
    .filter(({ reasonRegex }) => reasonRegex?.matches(reason) === true)
    .map(({ action, tolerationMs }) => [action, tolerationMs / 60_000]);
}

describe("repair policies of the AWS provider", () => {
  it("pass the check that each set is complete", () => {
    expect(repairPoliciesProblem(CURRENT)).toBeUndefined();
    expect(repairPoliciesProblem(KWOK_REPAIR_POLICIES)).toBeUndefined();
    expect(CURRENT).toHaveLength(9);
  });

  it("reboot or replace by the number of the error, which must match completely", () => {
    for (const reason of ["NvidiaXID48Error", "XID 48", "XID: 13, 48"])
      expect(treated(reason)).toEqual([["RebootNode", 10]]);
    expect(treated("NvidiaXID79Error")).toEqual([["ReplaceNode", 10]]);
    for (const reason of ["NvidiaXID480Error", "XID 148", "XID", "Code 48"])
      expect(treated(reason)).toEqual([]);
  });

  it("only replace while the gate is off, and have no reasons in the older set", () => {
    const closed = awsRepairPolicies({ rebootForRepair: false, legacy: false });
    expect(treated("NvidiaXID48Error", closed)).toEqual([["ReplaceNode", 10]]);
    const legacy = awsRepairPolicies({ rebootForRepair: true, legacy: true });
    expect(legacy.map(({ tolerationMs }) => tolerationMs / 60_000)).toEqual([
      30, 30, 10, 30, 30, 30, 30,
    ]);
    expect(legacy.every(({ reasonRegex }) => reasonRegex === undefined)).toBe(true);
  });
});

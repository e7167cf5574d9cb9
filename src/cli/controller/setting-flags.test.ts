import { describe, expect, it } from "vitest";
import { settingFlags } from "./setting-flags.ts";

describe("--setting", () => {
  it("accepts flags of the controller", () => {
    expect(settingFlags(["feature-gates=NodeRepair=true", "batch-max-duration=5s"])).toEqual({
      "feature-gates": "NodeRepair=true",
      "batch-max-duration": "5s",
    });
  });

  it("refuses an unknown feature gate and suggests the nearest one", () => {
    expect(() => settingFlags(["feature-gates=NodeRepiar=true"])).toThrow(
      '--setting: --feature-gates has no gate "NodeRepiar": did you mean NodeRepair?',
    );
    expect(() => settingFlags(["aws-feature-gates=DRAEFAA=true"])).toThrow("did you mean DRAEFA?");
  });
});

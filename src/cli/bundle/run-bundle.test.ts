import { describe, expect, it } from "vitest";
import { supportBundleCommand } from "../commands/support-bundle.ts";
import { defaultFolder } from "./run-bundle.ts";

describe("karpenter support-bundle without --out", () => {
  it("needs no flag, and names the folder by the time", async () => {
    let given: object | undefined;
    const command = supportBundleCommand().action((flags: object) => {
      given = flags;
    });
    await command.exitOverride().parseAsync([], { from: "user" });
    expect(given).toEqual({ namespace: "karpenter" });
    const atMs = Date.parse("2026-01-31T12:00:00Z");
    expect(defaultFolder(atMs)).toBe("karpenter-support-20260131T120000Z");
  });
});

import { describe, expect, it } from "vitest";
import { meantName } from "./slips.ts";

describe("meantName", () => {
  const fields = ["requirements", "nodeClassRef", "expireAfter", "cpu", "taints"];

  it.each([
    ["requirments", "requirements"],
    ["nodeclassref", "nodeClassRef"],
    ["expireAftre", "expireAfter"],
    ["tiants", "taints"],
    ["cpus", "cpu"],
  ])("%s is %s", (written, meant) => {
    expect(meantName(written, fields)).toBe(meant);
  });

  it("is undefined if no name is similar, or the word is too short", () => {
    expect(meantName("replicas", fields)).toBeUndefined();
    expect(meantName("z", ["a", "b"])).toBeUndefined();
    expect(meantName("cp", ["ip"])).toBeUndefined();
  });

  it("is the first by name of several that are equally similar", () => {
    expect(meantName("web-1", ["web-3", "web-2"])).toBe("web-2");
  });
});

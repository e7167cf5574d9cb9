import { describe, expect, it } from "vitest";
import { meantName } from "./slips.ts";

describe("the name that was meant", () => {
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

  it("is none when nothing is near, or the word is too short to tell", () => {
    expect(meantName("replicas", fields)).toBeUndefined();
    expect(meantName("z", ["a", "b"])).toBeUndefined();
    expect(meantName("cp", ["ip"])).toBeUndefined();
  });

  it("is the first by name of several that are equally near", () => {
    expect(meantName("web-1", ["web-3", "web-2"])).toBe("web-2");
  });
});

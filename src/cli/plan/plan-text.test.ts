import { expect, it } from "vitest";
import { tookText } from "./plan-text.ts";

it("writes a long planning time in seconds", () => {
  expect([0, 9_999.5, 13_032.8].map(tookText)).toEqual(["0 ms", "9999.5 ms", "13.0 s"]);
});

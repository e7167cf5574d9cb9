import { expect, it } from "vitest";
import { errorText, firstLineOf } from "./error-text.ts";

it("errorText is the message, the code of an error without one, or the thrown value", () => {
  expect(errorText(new Error("no room"))).toBe("no room");
  const atNoAddress = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
  expect(errorText(atNoAddress)).toBe("ECONNREFUSED");
  expect(firstLineOf(atNoAddress)).toBe("ECONNREFUSED");
  expect(errorText(new Error(""))).toBe("");
  expect(errorText("thrown")).toBe("thrown");
});

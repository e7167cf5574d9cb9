import { expect, test } from "vitest";
import { candidate } from "../../testing/disruption.ts";
import { type Command, decisionOf } from "./command.ts";

const command: Command = {
  reason: "Empty",
  consolidationType: "empty",
  via: "emptiness",
  generation: "v1",
  candidates: [candidate("a")],
  replacements: [],
  targets: [],
  validateAfterMs: 0,
};

test("a command without nodes does nothing", () => {
  expect(decisionOf({ ...command, candidates: [] })).toBe("no-op");
  expect(decisionOf(command)).toBe("delete");
});

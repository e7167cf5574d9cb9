import { expect, test } from "vitest";
import { candidate } from "../../testing/disruption.ts";
import {
  type Command,
  decisionOf,
  describeCommand,
  describeOlder,
  savingsMicroUsd,
} from "./command.ts";

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
const [{ priceMicroUsd }] = command.candidates as [Command["candidates"][number]];

/** A replacement at half the price that names this number of instance types. */
function plan(types = 1): Command["replacements"][number] {
  const instanceTypes = Array.from({ length: types }, (_, at) => ({ name: `t${at}` }));
  const cheapest = { capacityType: "spot", priceMicroUsd: priceMicroUsd / 2 };
  return { instanceTypes, cheapest } as unknown as Command["replacements"][number];
}

const reboot = { repair: { action: "RebootNode" } } as unknown as Partial<Command>;

test("computes the decision and the saving of a command", () => {
  const of = (more: Partial<Command>) => {
    const one = { ...command, ...more };
    return [decisionOf(one), savingsMicroUsd(one) / priceMicroUsd];
  };
  expect(of({ candidates: [] })).toEqual(["no-op", 0]);
  expect(of({})).toEqual(["delete", 1]);
  expect(of({ replacements: [plan()] })).toEqual(["replace", 0.5]);
  expect(of({ replacements: [plan(), plan(), plan()] })).toEqual(["replace", -0.5]);
  expect(of({ terminateFirst: "static-at-limit" })).toEqual(["terminate-first", 1]);
  expect(of(reboot)).toEqual(["reboot", 0]);
  expect(of({ repair: { action: "ReplaceNode" } as never })).toEqual(["delete", 1]);
});

test("describes a command in one line for the log", () => {
  const [usd, half] = [priceMicroUsd, priceMicroUsd / 2].map((one) => (one / 1e6).toFixed(2));
  const of = (more: Partial<Command>) => describeCommand({ ...command, ...more }, "id");
  expect(of({})).toBe(`Empty/id: delete: nodepools=[default]: [a] (savings: $${usd})`);
  const replace = "Empty/id: replace: nodepools=[default]: [a] -> [1 replacement]";
  expect(of({ replacements: [plan()] })).toBe(`${replace} (savings: $${half})`);
  expect(of({ replacements: [plan(), plan()] })).toContain("-> [2 replacements] (savings: $0.00)");
  expect(of({ returnsTo: "spot" })).toContain("[a], returning to spot (savings");
  const pools = ["b", "a", "b"].map((name, at) => candidate(`n${at}`, { pool: { name } }));
  expect(of({ candidates: pools })).toContain("nodepools=[a,b]: [n0, n1, n2]");
});

test("describes a command of an older generation with at most five types", () => {
  const of = (more: Partial<Command>) => describeOlder({ ...command, ...more });
  const gone = "delete, terminating 1 candidates a/m-4x/on-demand";
  expect(of({})).toBe(gone);
  expect(of({ generation: "alpha" })).toBe(gone.replace("candidates", "machines"));
  const replaced = gone.replace("delete", "replace");
  expect(of({ replacements: [plan(5)] })).toBe(
    `${replaced} and replacing with spot node from types t0, t1, t2, t3, t4`,
  );
  expect(of({ generation: "alpha", replacements: [plan(7)] })).toContain(
    "spot machine from types t0, t1, t2, t3, t4 and 2 other(s)",
  );
});

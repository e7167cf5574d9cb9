/**
 * Faults that are not about one kind (odd-faults.ts): no instance with a running pod ends, and none is launched without
 * need. `npm test` plays those that once did harm, one after the other. `npm run calm` also plays each alone, and
 * random chains of two or three (CHAINS=0-20: which seeds).
 */
import { expect, it } from "vitest";
import { Random } from "../../src/base/random.ts";
import { DoubtStage } from "./doubts.ts";
import { ODD_FAULTS } from "./odd-faults.ts";
import { STRANGER_FAULTS } from "./stranger-faults.ts";
import { TORN_FAULTS } from "./torn-faults.ts";

const FAULTS = { ...ODD_FAULTS, ...TORN_FAULTS, ...STRANGER_FAULTS };

/** Each fault alone is harmless. The first two leave state in the mirrors that made the others dangerous. */
const ONCE_HARMFUL = [
  "a page of NodeClaims lacks the object at its end",
  "a page of Nodes lacks the object at its end",
  "a list of NodeClaims has no items",
  "NodeClaims are read without their status",
];
/** Nodes that were missing in every list, and whose instances the cloud then does not know. */
const UNSEEN_NODES = [
  "a list of Nodes in pages skips an object at each page's beginning",
  "EC2 says of every instance that it is shutting down",
  "EC2 answers with instances of another account",
];
/** What other people and programs do. */
const STRANGERS = [
  "a person writes another claim's provider ID on a NodeClaim",
  "a person writes an instance that is not there on a NodeClaim",
  "a person writes a managed node's instance on a NodeClaim",
  "watches of Nodes tell that each is being deleted",
  "every second Node and NodeClaim is in no list and not found by its name",
];
const ALONE = process.env["CALM"] === undefined ? [] : Object.keys(FAULTS).map((title) => [title]);

/** Faults in sequence on one cluster: what one leaves in the mirrors can affect the next. */
function chain(seed: number): readonly string[] {
  const random = new Random(`chain ${seed}`);
  const titles = Object.keys(FAULTS);
  return Array.from({ length: 2 + random.int(2) }, () => titles[random.int(titles.length)] ?? "");
}

const [FROM = 0, TO = 20] = (process.env["CHAINS"] ?? "0-20").split("-").map(Number);
const CHAINS =
  process.env["CALM"] === undefined
    ? []
    : Array.from({ length: TO - FROM }, (_, at) => chain(FROM + at));

it.each(
  [ONCE_HARMFUL, UNSEEN_NODES, STRANGERS, ...ALONE, ...CHAINS].map(
    (titles) => [titles.join(", then "), titles] as const,
  ),
)("ends no node with a running pod: %s", { timeout: 300_000 }, async (_, titles) => {
  const stage = await DoubtStage.open();
  try {
    for (const title of titles) {
      const make = FAULTS[title];
      expect(make).toBeDefined();
      const said = make === undefined ? [] : await stage.playFault(make(stage.world));
      expect({ title, said }).toEqual({ title, said: [] });
    }
  } finally {
    await stage.close();
  }
});

/**
 * Faults of kinds of their own (odd-faults.ts): no machine with a running pod ends, and none is bought without need.
 * Plain `npm test` meets those that once did harm, one after the other. `npm run calm` meets each alone as well.
 */
import { expect, it } from "vitest";
import { DoubtStage } from "./doubts.ts";
import { ODD_FAULTS } from "./odd-faults.ts";

/** Each alone is harmless: what the first two leave in the mirrors made the others dangerous. */
const ONCE_HARMFUL = [
  "a page of NodeClaims lacks the object at its end",
  "a page of Nodes lacks the object at its end",
  "a list of NodeClaims has no items",
  "NodeClaims are read without their status",
];
const ALONE =
  process.env["CALM"] === undefined ? [] : Object.keys(ODD_FAULTS).map((title) => [title]);

it.each([ONCE_HARMFUL, ...ALONE].map((titles) => [titles.join(", then "), titles] as const))(
  "ends no node with a running pod: %s",
  { timeout: 300_000 },
  async (_, titles) => {
    const stage = await DoubtStage.open();
    try {
      for (const title of titles) {
        const make = ODD_FAULTS[title];
        expect(make).toBeDefined();
        const said = make === undefined ? [] : await stage.playFault(make(stage.world));
        expect({ title, said }).toEqual({ title, said: [] });
      }
    } finally {
      await stage.close();
    }
  },
);

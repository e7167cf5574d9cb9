import { expect, test } from "vitest";
import { DeviceLedger, type PlacedClaim } from "./ledger.ts";

test("an undo in the ledger restores the earlier node of a ResourceClaim, and a full undo removes it", () => {
  const ledger = new DeviceLedger();
  const [first, second]: PlacedClaim[] = [{}, {}].map((holder) => ({ holder, reaches: undefined }));
  ledger.place("gpu", first as PlacedClaim);
  const moment = ledger.now();
  const { revision } = ledger;
  ledger.place("gpu", second as PlacedClaim);
  expect(ledger.placed("gpu")).toBe(second);
  ledger.backTo(moment);
  expect(ledger.placed("gpu")).toBe(first);
  // Results that were cached before the undo must become invalid.
  expect(ledger.revision).toBeGreaterThan(revision);
  ledger.backTo(0);
  expect(ledger.placed("gpu")).toBe(undefined);
});

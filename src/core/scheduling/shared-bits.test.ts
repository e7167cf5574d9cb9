import { describe, expect, it } from "vitest";
import { bitIndices, clearBit, hashOfBits, noBits, setBit } from "./bits.ts";
import { SharedBits } from "./shared-bits.ts";

function bitsOf(...indices: readonly number[]) {
  const bits = noBits(64);
  for (const index of indices) setBit(bits, index);
  return bits;
}

describe("equal sets", () => {
  it("share one object, which callers cannot change", () => {
    const shared = new SharedBits();
    const scratch = bitsOf(3, 40);
    const first = shared.of(scratch);
    clearBit(scratch, 3);
    expect(bitIndices(first)).toEqual([3, 40]);
    expect(bitIndices(shared.of(scratch))).toEqual([40]);
    expect(shared.of(bitsOf(3, 40))).toBe(first);
  });

  it("are distinguished from others with the same hash", () => {
    // Two sets with equal hashes: a hash is 31 times the first word, plus the second.
    const [a, b] = [bitsOf(0), bitsOf(32, 33, 34, 35, 36)];
    expect(hashOfBits(a)).toBe(hashOfBits(b));
    const shared = new SharedBits();
    const [one, other] = [shared.of(a), shared.of(b)];
    expect([bitIndices(one), bitIndices(other)]).toEqual([[0], [32, 33, 34, 35, 36]]);
    expect([shared.of(a), shared.of(b)]).toEqual([one, other]);
    expect(shared.of(b)).toBe(other);
  });
});

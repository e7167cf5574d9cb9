import { describe, expect, it } from "vitest";
import { NOW } from "../../testing/disruption.ts";
import {
  backoffAfter,
  backoffOn,
  hasBackoff,
  isForgotten,
  isWritten,
  withBackoff,
} from "./failed-pools.ts";

const MINUTE = 60_000;
const bare = { metadata: { name: "default", annotations: { kept: "yes" } } };
const saying = (text: string) => ({
  metadata: { name: "default", annotations: { "karpenter.sh/replacements-failed": text } },
});

describe("the back-off of a pool whose replacements fail", () => {
  it("doubles with each failure in a row, up to ten minutes", () => {
    const minutes = [1, 2, 3, 4, 5, 99].map(
      (failures) => (backoffAfter(failures, NOW).untilMs - NOW) / MINUTE,
    );
    expect(minutes).toEqual([1, 2, 4, 8, 10, 10]);
    expect(backoffAfter(1, NOW + 1).untilMs).toBe(NOW + MINUTE + 1_000);
  });

  it("is forgotten an hour after its end", () => {
    const wait = { failures: 1, untilMs: NOW };
    expect([59, 60].map((minutes) => isForgotten(wait, NOW + minutes * MINUTE))).toEqual([
      false,
      true,
    ]);
    const pool = withBackoff(bare, wait);
    expect(backoffOn(pool, NOW + 59 * MINUTE)).toEqual(wait);
    expect(backoffOn(pool, NOW + 60 * MINUTE)).toBeUndefined();
  });

  it("is stored as an annotation of the NodePool beside others, and can be removed", () => {
    const wait = backoffAfter(2, NOW);
    const pool = withBackoff(bare, wait);
    expect(pool.metadata.annotations).toMatchObject(bare.metadata.annotations);
    expect(backoffOn(pool, NOW)).toEqual(wait);
    expect([hasBackoff(pool), hasBackoff(bare)]).toEqual([true, false]);
    expect([isWritten(pool, wait), isWritten(pool, backoffAfter(3, NOW))]).toEqual([true, false]);
    expect([isWritten(bare, undefined), isWritten(pool, undefined)]).toEqual([true, false]);
    expect(withBackoff(pool, undefined)).toEqual(bare);
    expect(backoffOn(bare, NOW)).toBeUndefined();
  });

  it("is ignored if the annotation is invalid, and never longer than a new one", () => {
    const until = new Date(NOW + 60 * MINUTE).toISOString();
    const read = (failures: unknown, end: unknown = until) =>
      backoffOn(saying(JSON.stringify({ failures, until: end })), NOW);
    expect(read(2)).toEqual({ failures: 2, untilMs: NOW + 2 * MINUTE });
    const broken = [read(0), read("1"), read(1.5), read(1, 5), read(1, "later")];
    expect(broken.filter((one) => one !== undefined)).toEqual([]);
    expect(backoffOn(saying("nonsense"), NOW)).toBeUndefined();
    expect(hasBackoff(saying("nonsense"))).toBe(true);
  });
});

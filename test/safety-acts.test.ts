/**
 * The table of irreversible acts (src/core/safety/acts.ts): each row names an existing test in which the proof for the
 * act is missing.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CLAIM_ACTS, INSTANCE_ACTS, PROVIDER_ACTS } from "../src/core/safety/acts.ts";

describe("the table of irreversible acts", () => {
  const acts = [...Object.values({ ...CLAIM_ACTS, ...INSTANCE_ACTS }), ...PROVIDER_ACTS];

  it.each(acts)("$what, because of $why: names a test that exists", ({ test }) => {
    const [file = "", title = ""] = test.split(": ");
    expect(title).not.toBe("");
    const text = readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
    expect(text.replaceAll(/\s+/g, " ")).toContain(title);
  });
});

import { describe, expect, it } from "vitest";
import { CODE_WORDS, rejectionText } from "./code-words.ts";

describe("the texts for codes in answers", () => {
  it("have at least three words, differ from each other, and contain no code", () => {
    for (const table of Object.values<Readonly<Record<string, string>>>(CODE_WORDS)) {
      const texts = Object.values(table);
      expect(new Set(texts).size).toBe(texts.length);
      for (const text of texts) expect(text.split(" ").length).toBeGreaterThanOrEqual(3);
      // These codes are also names of fields that users write, so texts may contain them.
      const fields = ["consolidateAfter", "minValues"];
      const coded = Object.keys(table).filter((code) => /[A-Z]/.test(code));
      for (const code of coded.filter((one) => !fields.includes(one)))
        for (const text of texts) expect(text).not.toContain(code);
    }
  });

  it("follow their number, as in `4 too small for its requests`", () => {
    expect(rejectionText({ resources: 4, hostPorts: 8 })).toBe(
      "4 too small for its requests, 8 with its host port taken",
    );
  });
});

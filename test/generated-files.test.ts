import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { generatedFiles } from "../scripts/generated-files.ts";

describe("generated files", () => {
  for (const { path, content } of generatedFiles()) {
    it(`${path} equals the output of npm run generate`, () => {
      const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
      expect(readFileSync(file, "utf8")).toBe(content);
    });
  }
});

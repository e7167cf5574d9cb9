/** The console's built page is committed: it must equal what its sources produce. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sourceHash } from "../dashboard/source-hash.ts";
import { ROOT } from "./tidy/sources.ts";

const BUILT = join(ROOT, "data/dashboard");

describe("the built dashboard", () => {
  it("equals what npm run dashboard builds from the sources", () => {
    expect(readFileSync(join(BUILT, "source.sha256"), "utf8").trim()).toBe(sourceHash());
  });

  it("has no inline script or style, which the console's content security policy would refuse", () => {
    const page = readFileSync(join(BUILT, "index.html"), "utf8");
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=)/);
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=/);
    for (const [, file] of page.matchAll(/(?:src|href)="\/([^"]+)"/g))
      expect(existsSync(join(BUILT, file ?? ""))).toBe(true);
  });

  it("writes text only as text nodes", () => {
    const script = readFileSync(join(BUILT, "app.js"), "utf8");
    expect(script).not.toMatch(/dangerouslySetInnerHTML:\s*\{\s*__html:\s*[a-z]/);
    expect(script).not.toMatch(/\beval\(|new Function\(/);
  });
});

/** Where a bundle cannot be written, one sentence says so. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolders } from "../../testing/temporary-folder.ts";
import { CliError } from "../program/cli-error.ts";
import { writeBundle } from "./write-bundle.ts";

const newFolder = temporaryFolders("bundle-");

describe("writing a support bundle", () => {
  const folder = newFolder();
  const files = [{ path: "objects/nodes.json", text: "[]" }];

  it("creates missing folders", () => {
    writeBundle(join(folder, "a"), files);
    expect(readFileSync(join(folder, "a/objects/nodes.json"), "utf8")).toBe("[]");
  });

  it("says why a folder cannot be written", () => {
    writeFileSync(join(folder, "file"), "");
    const out = join(folder, "file", "b");
    const writing = () => writeBundle(out, files);
    expect(writing).toThrow(CliError);
    expect(writing).toThrow(`--out: cannot write ${out}: `);
  });
});

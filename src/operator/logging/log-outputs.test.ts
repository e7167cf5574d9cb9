import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { logWriter } from "./log-outputs.ts";

const folder = mkdtempSync(join(tmpdir(), "logs-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("log lines", () => {
  it("go to each output once, also to files", () => {
    const file = join(folder, "karpenter.log");
    const write = logWriter(`${file},${file}`, "stderr");
    write("one");
    write("two");
    expect(readFileSync(file, "utf8")).toBe("one\ntwo\n");
  });

  it("that cannot be written cause one error, and the other outputs continue", () => {
    const seen: [number, string][] = [];
    const write = logWriter("stdout,stderr", "stderr", (file, line) => {
      if (file === 1) throw new Error("disk full");
      seen.push([file, line]);
    });
    write("one");
    write("two");
    expect(seen).toEqual([
      [2, "cannot write logs to stdout: Error: disk full"],
      [2, "one"],
      [2, "two"],
    ]);
  });

  it("need files that can be opened", () => {
    expect(() => logWriter(join(folder, "no", "where"), "stderr")).toThrow(
      /--log-output-paths: cannot open .* \(ENOENT\)/,
    );
  });
});

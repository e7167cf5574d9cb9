import { afterEach, describe, expect, it, vi } from "vitest";
import { progressFor } from "./progress.ts";

const TERMINALS = { stderr: process.stderr.isTTY, stdout: process.stdout.isTTY };

function terminals(stderr: boolean, stdout: boolean): void {
  process.stderr.isTTY = stderr;
  process.stdout.isTTY = stdout;
}

afterEach(() => {
  terminals(TERMINALS.stderr, TERMINALS.stdout);
  vi.restoreAllMocks();
});

describe("the progress line of a long command", () => {
  it("shows each stage in place of the last one, and is removed once at the end", () => {
    terminals(true, true);
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const progress = progressFor("text");
    progress.end();
    progress.stage("reading");
    progress.stage("planning");
    progress.end();
    progress.end();
    const written = write.mock.calls.map(([text]) => text);
    expect(written).toEqual(["\r\u001b[Kreading …", "\r\u001b[Kplanning …", "\r\u001b[K"]);
  });

  it.each([
    { stderr: true, stdout: true, output: "json", shows: true },
    { stderr: true, stdout: false, output: "text", shows: true },
    { stderr: true, stdout: false, output: "json", shows: false },
    { stderr: true, stdout: false, output: "yaml", shows: false },
    { stderr: false, stdout: true, output: "text", shows: false },
  ])("is shown only on a terminal and not for data: %o", ({ stderr, stdout, output, shows }) => {
    terminals(stderr, stdout);
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const progress = progressFor(output);
    progress.stage("planning");
    progress.end();
    expect(write.mock.calls.length).toBe(shows ? 2 : 0);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readPart } from "./load-program.ts";

describe("a file of the bundle", () => {
  let folder: string;
  let url: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "karpenter-part-"));
    url = pathToFileURL(join(folder, "/")).href;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (file: string, body: string): void =>
    writeFileSync(
      join(folder, file),
      `(function (require, module, exports, bundleUrl) {${body}\n})`,
    );
  /** A different text of the same length each time, because this process keeps what it compiled before. */
  let texts = 100;
  const text = (): string =>
    `exports.double = (one) => 2 * one; exports.where = bundleUrl; /* ${texts++} */`;
  const cacheOf = (body: string): Buffer => {
    write("main.cjs", body);
    const part = readPart(url, "main.cjs");
    part.evaluate();
    return part.script.createCachedData();
  };
  const runWith = (cache: Buffer | string): unknown => {
    write("main.cjs", text());
    writeFileSync(join(folder, "main.cjs.cache"), cache);
    const part = readPart(url, "main.cjs");
    const { double } = part.evaluate() as { double: (one: number) => number };
    return [double(21), part.script.cachedDataRejected];
  };

  it("runs without a code cache, and finds the files beside it", () => {
    write("main.cjs", text());
    const part = readPart(url, "main.cjs");
    expect(part.evaluate()["where"]).toBe(url);
    expect(part.script.cachedDataRejected).toBeUndefined();
  });

  it("uses its code cache", () => {
    expect(runWith(cacheOf(text()))).toEqual([42, false]);
  });

  it("runs as usual if the code cache is broken or of another program", () => {
    expect(runWith("not what V8 wrote")).toEqual([42, true]);
    expect(runWith("")).toEqual([42, true]);
    expect(runWith(cacheOf(text()).subarray(0, -64))).toEqual([42, true]);
    expect(runWith(cacheOf("exports.double = 'another text';"))).toEqual([42, true]);
  });

  it("loads a package from its own file on first use, once", () => {
    write(
      "late.cjs",
      "globalThis.$late = (globalThis.$late ?? 0) + 1; exports['some/package'] = 7;",
    );
    write("main.cjs", "exports.ask = () => [require('some/package'), require('node:path').sep];");
    const lazy = { "some/package": "late.cjs" };
    const { ask } = readPart(url, "main.cjs", lazy).evaluate() as { ask: () => unknown };
    const counted = globalThis as { $late?: number };
    expect(counted.$late).toBeUndefined();
    expect(ask()).toEqual([7, "/"]);
    expect(ask()).toEqual([7, "/"]);
    expect(counted.$late).toBe(1);
    delete counted.$late;
  });
});

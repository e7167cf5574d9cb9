/**
 * Packages that run with the program: each has a reason and a licence that allows redistribution, and none has an
 * install script.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { auditVerdict } from "../scripts/audit/verdict.ts";
import {
  MORE,
  MOST,
  REASONS,
  type RuntimePackage,
  runtimePackages,
} from "../scripts/dependencies-page.ts";

const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
const all = runtimePackages(read("package-lock.json"));
const direct = all.filter(({ isDirect }) => isDirect);
/** Licences that only require us to pass on their text. */
const LICENCES = ["Apache-2.0", "MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "PSF-2.0"];

const names = (some: readonly RuntimePackage[]) => some.map(({ name }) => name);

describe("packages that the product needs at run time", () => {
  it("are those of package.json, each with a reason", () => {
    const { dependencies, optionalDependencies } = JSON.parse(read("package.json"));
    const given = { ...dependencies, ...optionalDependencies };
    expect(names(direct)).toEqual(Object.keys(given).sort());
    expect(Object.keys(REASONS).sort()).toEqual(names(direct));
    expect(Object.values(REASONS).filter((reason) => reason.length < 15)).toEqual([]);
  });

  it("are few, or their number has a reason", () => {
    const counts = { direct: direct.length, total: all.length };
    for (const which of ["direct", "total"] as const)
      expect(MORE[which] !== undefined, `${which}: ${counts[which]}`).toBe(
        counts[which] > MOST[which],
      );
    const small = all.filter(
      ({ isDirect, name, broughtBy }) =>
        !/^@(aws-sdk|opentelemetry)\//.test(name) &&
        (isDirect ||
          broughtBy.some((one) => !/^(@(aws-sdk|opentelemetry)\/|selfsigned$)/.test(one))),
    );
    // Maximum number of packages that neither the AWS SDK nor OpenTelemetry brings.
    expect(small.length).toBeLessThanOrEqual(30);
  });

  it("have licences that allow redistribution", () => {
    const isKnown = ({ license }: RuntimePackage) =>
      license
        .replace(/[()]/g, "")
        .split(/ AND /)
        .every((one) => LICENCES.includes(one));
    expect(all.filter((one) => !isKnown(one))).toEqual([]);
  });

  it("run no script when they are installed", () => {
    expect(names(all.filter(({ hasInstallScript }) => hasInstallScript))).toEqual([]);
    // This project has no install script either.
    const { scripts } = JSON.parse(read("package.json")) as { scripts: object };
    const own = Object.keys(scripts).filter((name) => /^(pre|post)?install$|^prepare$/.test(name));
    expect(own).toEqual([]);
  });
});

describe("a lock file", () => {
  it("is resolved from inner folders to outer ones, as Node looks for packages", () => {
    const lock = JSON.stringify({
      packages: {
        "": { dependencies: { a: "1" }, devDependencies: { d: "1" } },
        "node_modules/a": { version: "1.0.0", license: "MIT", dependencies: { b: "1", c: "1" } },
        "node_modules/a/node_modules/b": { version: "1.0.0", dependencies: { c: "1" } },
        "node_modules/b": { version: "2.0.0", dev: true },
        "node_modules/c": { version: "1.0.0", license: "MIT", hasInstallScript: true },
        "node_modules/d": { version: "1.0.0", dev: true, dependencies: { b: "2" } },
      },
    });
    const found = runtimePackages(lock);
    expect(found.map(({ name, version }) => `${name}@${version}`)).toEqual([
      "a@1.0.0",
      "b@1.0.0",
      "c@1.0.0",
    ]);
    expect(found[2]).toMatchObject({ hasInstallScript: true, isDirect: false, broughtBy: ["a"] });
    const broken = lock.replace('"node_modules/c"', '"node_modules/x"');
    expect(() => runtimePackages(broken)).toThrow("needs c, which is not in it");
  });
});

describe("an audit of packages", () => {
  const answer = (vulnerabilities: object) =>
    JSON.stringify({ auditReportVersion: 2, vulnerabilities });

  it("is clean if the registry reports nothing", () => {
    expect(auditVerdict(answer({}))).toEqual({ kind: "clean" });
  });

  it("names each package with its vulnerability", () => {
    const via = [{ title: "reads too much", url: "https://a.example/1" }, "undici"];
    const verdict = auditVerdict(answer({ undici: { name: "undici", severity: "high", via } }));
    expect(verdict).toEqual({
      kind: "faults",
      lines: ["undici (high): reads too much, https://a.example/1"],
    });
  });

  it.each([
    ['{"error": {"code": "ENOAUDIT", "summary": "no endpoint"}}', "no endpoint"],
    ['{"message": "404 Not Found"}', "404 Not Found"],
    ["<html>", "its answer is no JSON"],
    ["{}", "its answer is no report"],
  ])("fails when the registry answers %s", (text, reason) => {
    expect(auditVerdict(text)).toEqual({ kind: "not-asked", reason });
  });
});

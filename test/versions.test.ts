/** The page of versions shows what was recorded, and says which versions were not run. */
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { type Run, recordedRuns, withRun } from "../scripts/versions/runs.ts";
import { versionsPage } from "../scripts/versions/versions-page.ts";

const run = (more: Partial<Run>): Run => ({
  tests: ["helm"],
  kubernetes: "1.34.4",
  node: "26.10.0",
  on: "2026-01-05",
  ...more,
});
const rowOf = (page: string, start: string) =>
  page.split("\n").find((line) => line.startsWith(`| ${start}`));

it("the page of tested versions shows the runs that happened, and no others", () => {
  const page = versionsPage([run({}), run({ node: "20.20.2", tests: ["karpenter", "helm"] })]);
  expect(rowOf(page, "1.34 ")).toBe("| 1.34 | `helm`, `karpenter` | not run | not run | `helm` |");
  expect(rowOf(page, "1.33 ")).toBe("| 1.33 | not run | not run | not run | not run |");
  expect(page).toContain("- Kubernetes 1.34.4, Node.js 26.10.0: 2026-01-05");
});

it("the page of tested versions has a row for each version of Karpenter in Go from 0.16 to 1.15, tested or not", () => {
  const rows = versionsPage([run({ upstream: "1.14.1" })])
    .split("\n")
    .filter((line) => /^\| \d[\d.]*( to [\d.]+)? \| [^|]+ \|$/.test(line));
  expect(rows).toEqual([
    "| 0.16 to 1.13 | not run |",
    "| 1.14.1 | 2026-01-05 |",
    "| 1.15 | not run |",
  ]);
});

it("a later run of the same versions is merged into the earlier one, with the earlier day", () => {
  const runs = withRun(
    [run({})],
    run({ tests: ["karpenter"], on: "2026-02-01", upstream: "1.14.1" }),
  );
  expect(runs).toEqual([
    run({ tests: ["helm", "karpenter"], on: "2026-01-05", upstream: "1.14.1" }),
  ]);
  const [first] = withRun(runs, run({ node: "20.20.2" }));
  expect(first?.node).toBe("20.20.2");
});

it("the recorded runs name only existing tests and full version numbers", () => {
  const runs = recordedRuns();
  expect(runs.length).toBeGreaterThan(0);
  for (const { tests, kubernetes, node, on } of runs) {
    for (const test of tests)
      expect(existsSync(new URL(`cluster/${test}.test.ts`, import.meta.url)), test).toBe(true);
    expect([kubernetes, node].every((one) => /^\d+\.\d+\.\d+$/.test(one))).toBe(true);
    expect(on).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  }
});

/** Reads ginkgo's report and gives a verdict. The suites themselves need Go (`npm run test:upstream`). */
import { describe, expect, it } from "vitest";
import type { KnownFailure } from "./known-failures.ts";
import { type GinkgoSpec, outcomesOf, verdictOf } from "./report.ts";

function spec(text: string, State: string, Message = ""): GinkgoSpec {
  return {
    ContainerHierarchyTexts: ["Drift"],
    LeafNodeType: "It",
    LeafNodeText: text,
    State,
    RunTime: 2e9,
    Failure: { Message },
  };
}

const REPORT = [
  {
    SpecReports: [
      { ...spec("", "passed"), LeafNodeType: "BeforeSuite" },
      spec("works", "passed"),
      spec("hangs", "timedout", "Timed out\n  after 900s."),
      spec("breaks", "panicked"),
      spec("waits", "skipped"),
      spec("ends", "interrupted", "Interrupted by User"),
      spec("lacks", "skipped", "the scheduler has another profile"),
    ],
  },
];
const HANGS: KnownFailure = {
  suite: "disruption",
  spec: /^Drift hangs$/,
  reason: "not built yet",
  isFlaky: false,
};

describe("reports of upstream's test suites", () => {
  it("have an outcome for each spec, however it failed", () => {
    const states = outcomesOf(REPORT).map(({ name, state }) => `${name}: ${state}`);
    const failed = ["Drift hangs: failed", "Drift breaks: failed"];
    const left = ["Drift waits: notRun", "Drift ends: notRun", "Drift lacks: skipped"];
    expect(states).toEqual(["Drift works: passed", ...failed, ...left]);
    expect(outcomesOf(REPORT)[1]?.message).toBe("Timed out after 900s.");
  });

  it("fail if an unlisted spec fails", () => {
    const { unlisted, lines } = verdictOf(outcomesOf(REPORT), [HANGS]);
    expect(unlisted).toEqual(["Drift breaks"]);
    expect(lines).toContain("        not built yet");
    expect(lines.at(-1)).toBe("1 of 3 specs pass; 3 skipped or not in focus");
  });

  it("name listed specs that pass, unless they are flaky", () => {
    const works = { ...HANGS, spec: /^Drift works$/ };
    expect(verdictOf(outcomesOf(REPORT), [works]).mended).toEqual(["Drift works"]);
    expect(verdictOf(outcomesOf(REPORT), [{ ...works, isFlaky: true }]).mended).toEqual([]);
  });

  it("show the result of upstream's own operator beside ours", () => {
    const { lines } = verdictOf(outcomesOf(REPORT), [], outcomesOf(REPORT));
    expect(lines[0]).toMatch(/^passed +2 s {2}upstream: passed +Drift works$/);
  });
});

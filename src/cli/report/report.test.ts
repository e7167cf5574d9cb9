import { describe, expect, it } from "vitest";
import { remedies } from "../../core/answers/fixes/remedy.ts";
import { planBatch } from "../../core/planner/plan-batch.ts";
import { DEFAULT_PLANNER } from "../../core/planner/planner-options.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { planOf } from "../plan/plan.ts";
import { settledPlan } from "../plan/played-batch.ts";
import { markdownText, xmlText } from "./escape.ts";
import { REPORT_FORMATS } from "./format-names.ts";
import { printedReport } from "./formats.ts";
import { planReport, type Report } from "./report.ts";

const HOSTILE = `<script>alert("1")</script> [x](http://evil) @all | **b** \u001b[2J \u202e`;

function reportOf(count: number, notes: readonly string[] = []) {
  const pods = [
    ...Array.from({ length: count }, (_, index) => pod({ name: `web-${index}`, cpu: "3" })),
    pod({ name: "huge-0", cpu: "900" }),
    pod({ name: "huge-1", cpu: "900" }),
  ];
  const pools = [
    poolInput({ name: "general" }, [instanceType({ cpu: 4, capacityTypes: ["spot"] })]),
  ];
  const input = schedulingInput({ pods, pools });
  const result = planBatch(input, DEFAULT_PLANNER);
  const extras = { input, remedies: remedies(input, result, settledPlan) };
  const plan = planOf(result, pods.length, { parseMs: 0, solveMs: 0 }, extras);
  return planReport(plan, result, notes);
}

describe("a report of a plan", () => {
  it("has the figures, the nodes with their pods, and the pods without a place by reason", () => {
    const { figures, maps, unplaced } = reportOf(2);
    const pools = maps[0]?.pools ?? [];
    expect(figures.map(({ value }) => value)).toEqual(["2 of 4", "2", "$0.2800", "$204.40"]);
    expect(pools).toMatchObject([
      { name: "general", nodes: [{ pods: [{ name: "default/web-0" }] }, {}] },
    ]);
    expect(pools[0]?.nodes[0]?.cpu).toBeCloseTo(3 / 4, 1);
    expect(unplaced).toMatchObject([{ pods: ["default/huge-0", "default/huge-1"] }]);
    expect(unplaced[0]?.reasons).toEqual([
      "general: no instance type has enough resources; instance types ruled out: 1 too small for its requests",
    ]);
  });

  it.each(REPORT_FORMATS)("escapes text from objects in %s", (format) => {
    const text = printedReport(reportOf(2, [HOSTILE]), format);
    expect(text).not.toContain("<script");
    expect(text).not.toContain("\u001b");
    expect(text).not.toContain("\u202e");
    if (format === "markdown") expect(text).not.toContain("[x](");
  });

  it.each(REPORT_FORMATS)("escapes text from objects in every field of %s", (format) => {
    const lines = [HOSTILE];
    const node = {
      name: HOSTILE,
      instanceType: HOSTILE,
      zone: HOSTILE,
      capacityType: HOSTILE,
      priceMicroUsdPerHour: 0,
      cpu: 0.5,
      memory: 0.5,
      pods: [{ name: HOSTILE, cpu: 0.5 }],
    };
    const pool = { name: HOSTILE, priceMicroUsdPerHour: 0, nodes: [node] };
    const report: Report = {
      title: HOSTILE,
      says: HOSTILE,
      figures: [{ label: HOSTILE, value: HOSTILE }],
      maps: [
        { title: HOSTILE, pools: [pool], without: HOSTILE },
        { title: HOSTILE, pools: [], without: HOSTILE },
      ],
      unplaced: [{ reasons: lines, pods: lines, nearest: HOSTILE, fix: HOSTILE }],
      sections: [{ title: HOSTILE, lines }],
    };
    const text = printedReport(report, format);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left.
    expect(text).not.toMatch(/<script|\u001b|\u202e/);
    if (format !== "markdown") expect(text).not.toContain(`"1"`);
    if (format === "markdown") expect(text).not.toMatch(/[^\\]\[x|@all|[^\\*]\*\*b/);
  });

  it("loads nothing from the network, whatever it shows", () => {
    for (const format of ["html", "svg"] as const) {
      const text = printedReport(reportOf(2), format).replace("http://www.w3.org/2000/svg", "");
      expect(text).not.toMatch(/https?:|<script|<link|<img|@import|url\(/);
    }
    expect(printedReport(reportOf(2), "html")).toContain("default-src 'none'");
  });

  it.each(["markdown", "html"] as const)("names the nearest place of a pod in %s", (format) => {
    expect(reportOf(1).unplaced[0]?.nearest).toMatch(/ of general: cpu: /);
    expect(printedReport(reportOf(1), format)).toMatch(/Nearest: .* of general: cpu: /);
  });

  it("shows cards for few nodes and tiles for many, each with a sentence", () => {
    const few = printedReport(reportOf(5), "svg");
    const many = printedReport(reportOf(200), "svg");
    expect(few).toContain("CPU 7");
    expect(many).not.toContain(">CPU ");
    expect(many.match(/<g /g)?.length).toBe(200);
    expect(many).toContain("1 pod, CPU");
  });

  it("says that no node is needed, if that is so", () => {
    expect(printedReport(reportOf(0), "svg")).toContain("No new node is needed.");
    expect(printedReport(reportOf(0), "markdown")).toContain("No new node is needed.");
  });

  it("has the same bytes for the same plan", () => {
    for (const format of REPORT_FORMATS)
      expect(printedReport(reportOf(3), format)).toBe(printedReport(reportOf(3), format));
  });
});

it("escaping replaces every character that markup would read", () => {
  expect(xmlText(`<a href="x">&'`)).toBe("&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  expect(markdownText("a|b `c` <d>")).toBe("a\\|b \\`c\\` &lt;d&gt;");
});

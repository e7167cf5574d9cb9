/**
 * Rules and dashboards name only metrics and labels that the program serves. Each alert has its runbook. The
 * program serves the metrics of upstream's published dashboards. `npm run test:prometheus` tries rules and
 * dashboards on a real Prometheus.
 */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ALERTS } from "../scripts/monitoring/alerts.ts";
import { DASHBOARDS } from "../scripts/monitoring/dashboards.ts";

const ROOT = new URL("../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");

/** Type and labels of each metric, from the page of metrics, which is generated from the declarations. */
const SERVED = new Map(
  [...read("docs/reference/metrics.md").matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \|/gm)].map(
    ([, name = "", type = "", labels = ""]) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label) },
    ],
  ),
);
const OF_METRICS =
  /\b(?:karpenter|operator|controller_runtime|workqueue|client_go|aws_sdk_go|process)_\w+/g;

/** The declared metric that a series belongs to; undefined if there is none. */
function familyOf(series: string): string | undefined {
  const base = series.replace(/_(bucket|sum|count)$/, "");
  const type = SERVED.get(base)?.type;
  if (base !== series && (type === "histogram" || type === "summary")) return base;
  return SERVED.has(series) ? series : undefined;
}

const OWN = [
  ...ALERTS.map(({ name, expr }) => ({ where: name, expr })),
  ...DASHBOARDS.flatMap(({ rows, title: board }) =>
    rows.flatMap(({ panels }) =>
      panels.flatMap(({ title, queries }) =>
        queries.map(({ expr }) => ({ where: `${board}, ${title}`, expr })),
      ),
    ),
  ),
];

it("dashboards and alerts use only metrics and labels that the controller serves", () => {
  expect(SERVED.size).toBeGreaterThan(100);
  for (const { where, expr } of OWN) {
    const names = expr.replaceAll(/"[^"]*"/g, '""').match(OF_METRICS) ?? [];
    const series = names.filter((name) => !/^karpenter_sh_\w+$/.test(name));
    expect(series.length, where).toBeGreaterThan(0);
    expect(
      series.filter((name) => familyOf(name) === undefined),
      where,
    ).toEqual([]);
    for (const [, name = "", matchers = ""] of expr.matchAll(/(\w+)\{([^}]*)\}/g)) {
      const own = [...(SERVED.get(familyOf(name) ?? "")?.labels ?? []), "le", "quantile"];
      const used = [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label);
      expect(
        used.filter((label) => !own.includes(label)),
        `${where}: ${name}`,
      ).toEqual([]);
    }
    const all = series.flatMap((name) => SERVED.get(familyOf(name) ?? "")?.labels ?? []);
    const given = [...expr.matchAll(/label_replace\(.*?, "(\w+)"/g)].map(([, label = ""]) => label);
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
      list.split(", "),
    );
    expect(
      grouped.filter((label) => ![...all, ...given, "le"].includes(label)),
      `${where}: by`,
    ).toEqual([]);
  }
});

it("the controller serves what each panel of upstream's published dashboards queries", () => {
  const { source: _, ...boards } = JSON.parse(
    read("test/fixtures/upstream-dashboards.json"),
  ) as Record<string, Readonly<Record<string, readonly string[]>>>;
  const panels = Object.values(boards).flatMap((board) => Object.entries(board));
  expect(panels.length).toBeGreaterThan(10);
  for (const [panel, names] of panels)
    expect({ panel, missing: names.filter((name) => familyOf(name) === undefined) }).toEqual({
      panel,
      missing: [],
    });
});

it("the runbook has a section for each alert: its meaning, what to look at and what to do", () => {
  const pages = readdirSync(new URL("docs/runbooks", ROOT)).filter((name) => name !== "README.md");
  const sections = new Map(
    pages.flatMap((page) =>
      read(`docs/runbooks/${page}`)
        .split(/^## /m)
        .slice(1)
        .map((text) => [`${page}#${text.slice(0, text.indexOf("\n"))}`, text] as const),
    ),
  );
  const wanted = ALERTS.map(({ name, runbook }) => `${runbook}.md#Karpenter${name}`);
  expect([...sections.keys()].sort()).toEqual([...wanted].sort());
  for (const [name, text] of sections)
    for (const part of ["**Means.**", "**Look at.**", "**Do.**"])
      expect(text.includes(part), `${name} ${part}`).toBe(true);
});

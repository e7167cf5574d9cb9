/**
 * Grafana's JSON from short descriptions of panels. Position, data source and options are the same for all panels
 * and are filled in here. For Grafana 10 and newer.
 */

export interface Query {
  readonly expr: string;
  /** Name of a series, in Grafana's form: `{{nodepool}}`. */
  readonly legend?: string;
}

export interface GrafanaPanel {
  readonly title: string;
  /** What a reader must know to understand the panel. */
  readonly description: string;
  /** A number now, a line over time, or a row for each series. */
  readonly kind: "stat" | "timeseries" | "table";
  /** The unit of the values, in Grafana's notation. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** Whether lines are stacked as areas. */
  readonly isStacked?: true;
}

export interface GrafanaRow {
  readonly title: string;
  readonly panels: readonly GrafanaPanel[];
}

export interface Dashboard {
  /** The dashboard's name, and its file's name after `karpenter-`. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly GrafanaRow[];
}

// A variable of Grafana, not of this template: Grafana replaces it by the chosen data source.
const SOURCE = { type: "prometheus", uid: `$${"{datasource}"}` };
/** The width of a screen in Grafana's columns. */
const SCREEN = 24;
const SIZE = {
  stat: { w: 4, h: 4 },
  timeseries: { w: 12, h: 8 },
  table: { w: 12, h: 8 },
} as const;

/** The file that Grafana imports. */
export function dashboardJson(dashboard: Dashboard): string {
  return `${JSON.stringify(modelOf(dashboard), null, 2)}\n`;
}

function modelOf({ name, title, description, rows }: Dashboard): unknown {
  return {
    uid: `karpenter-ts-${name}`,
    title,
    description,
    tags: ["karpenter"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    timezone: "",
    links: [
      {
        type: "dashboards",
        title: "Karpenter",
        tags: ["karpenter"],
        asDropdown: false,
        includeVars: true,
        keepTime: true,
      },
    ],
    templating: { list: [SOURCE_CHOICE, POOL_CHOICE] },
    annotations: { list: [] },
    panels: placed(rows),
  };
}

const SOURCE_CHOICE = {
  name: "datasource",
  label: "Data source",
  type: "datasource",
  query: "prometheus",
};

const POOL_CHOICE = {
  name: "nodepool",
  label: "NodePool",
  type: "query",
  datasource: SOURCE,
  query: { query: "label_values(karpenter_nodepools_usage, nodepool)", refId: "nodepool" },
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  allValue: ".*",
  current: { text: "All", value: "$__all" },
};

/** Positions panels: rows from top to bottom, and in each row as many panels as fit from left to right. */
function placed(rows: readonly GrafanaRow[]): readonly unknown[] {
  const all: unknown[] = [];
  let y = 0;
  let id = 0;
  for (const row of rows) {
    all.push({
      id: ++id,
      type: "row",
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y: y++, w: SCREEN, h: 1 },
    });
    let x = 0;
    let height = 0;
    for (const panel of row.panels) {
      const { w, h } = SIZE[panel.kind];
      if (x + w > SCREEN) {
        y += height;
        x = 0;
        height = 0;
      }
      all.push({ id: ++id, ...panelModel(panel), gridPos: { x, y, w, h } });
      x += w;
      height = Math.max(height, h);
    }
    y += height;
  }
  return all;
}

function panelModel({ title, description, kind, unit, queries, isStacked }: GrafanaPanel): object {
  return {
    type: kind,
    title,
    description,
    datasource: SOURCE,
    fieldConfig: {
      defaults: { unit, ...(kind === "timeseries" ? lines(isStacked) : {}) },
      overrides: [],
    },
    options: OPTIONS[kind],
    ...(kind === "table" ? TABLE : {}),
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource: SOURCE,
      expr,
      legendFormat: legend ?? "__auto",
      editorMode: "code",
      ...(kind === "timeseries" ? { range: true } : { instant: true, range: false }),
      ...(kind === "table" ? { format: "table" } : {}),
    })),
  };
}

/** The options of a line chart: gaps at missing values, and an axis that begins at zero. */
function lines(isStacked: true | undefined): object {
  return {
    min: 0,
    custom: {
      lineWidth: 1,
      fillOpacity: isStacked ? 40 : 0,
      showPoints: "never",
      spanNulls: false,
      stacking: { mode: isStacked ? "normal" : "none", group: "A" },
    },
  };
}

const OPTIONS = {
  stat: { reduceOptions: { calcs: ["lastNotNull"] }, graphMode: "area", colorMode: "none" },
  timeseries: {
    legend: { displayMode: "list", placement: "bottom", showLegend: true },
    tooltip: { mode: "multi", sort: "desc" },
  },
  table: { showHeader: true },
} as const;

/** One table row for each series, without the time column. */
const TABLE = {
  transformations: [
    { id: "merge", options: {} },
    { id: "organize", options: { excludeByName: { Time: true } } },
  ],
};

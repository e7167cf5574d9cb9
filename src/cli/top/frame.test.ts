import pc from "picocolors";
import { describe, expect, it } from "vitest";
import type { Fleet, FleetNode } from "../../core/answers/fleet.ts";
import { printedScreen } from "../program/terminal.ts";
import { type Canvas, frame, type Surroundings } from "./frame.ts";
import { FIRST_VIEW, KEYS, type TopView } from "./view.ts";

const GIB = 2 ** 30;
const plain = pc.createColors(false);
const node = (index: number, more: Partial<FleetNode> = {}): FleetNode => ({
  name: `ip-10-0-0-${index}.us-west-2.compute.internal`,
  state: "running",
  createdAt: "2026-01-01T05:00:00Z",
  nodePool: "default",
  instanceType: "m5.large",
  zone: "us-west-2a",
  capacityType: "spot",
  allocatable: { cpu: 2_000, memory: 8 * GIB },
  requested: { cpu: 1_000, memory: 2 * GIB },
  pods: 7,
  priceMicroUsdPerHour: 38_000,
  ...more,
});

function fleet(nodes: readonly FleetNode[], more: Partial<Fleet> = {}): Fleet {
  return {
    at: "2026-01-01T08:00:00Z",
    nodes,
    pools: [
      {
        name: "default",
        nodes: nodes.length,
        allocatable: { cpu: 2_000, memory: 8 * GIB },
        requested: { cpu: 1_000, memory: 2 * GIB },
        priceMicroUsdPerHour: 38_000 * nodes.length,
        moving: 1,
        held: 0,
      },
    ],
    waiting: [],
    totals: {
      nodes: nodes.length,
      pods: 7 * nodes.length,
      waiting: 0,
      allocatable: { cpu: 2_000, memory: 8 * GIB },
      requested: { cpu: 1_000, memory: 2 * GIB },
      priceMicroUsdPerHour: 38_000 * nodes.length,
      unpriced: 0,
    },
    ...more,
  };
}

const text = (
  one: Fleet,
  canvas: Partial<Canvas> = {},
  around: Surroundings = { cluster: "prod" },
  view: TopView = FIRST_VIEW,
) =>
  printedScreen(frame(one, view, { columns: 80, paint: plain, ...canvas }, around))
    .split("\n")
    .slice(0, -1);

describe("keys of karpenter top", () => {
  it.each([60, 100])("are listed completely on a screen of %i columns", (columns) => {
    const keys = { ...FIRST_VIEW, showsKeys: true } as const;
    const canvas = { columns, rows: 24, isAscii: true };
    const lines = text(fleet([node(1)]), canvas, undefined, keys);
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    for (const [name] of KEYS.slice(1))
      expect(lines.some((line) => line.startsWith(`  ${name} `))).toBe(true);
    expect(lines.some((line) => line.startsWith("  up down, k j "))).toBe(true);
    expect(lines.at(-1)).toBe("any key: back  q quit");
  });

  it("are named below the list of nodes", () => {
    expect(text(fleet([node(1)]), { rows: 20 }).at(-1)).toContain("? keys");
  });
});

describe("a frame of karpenter top", () => {
  it("keeps names with hidden characters and long names in their columns", () => {
    const hostile = `\u202e${"evil-".repeat(12)}`;
    const plainly = fleet([node(1)]);
    const pools = plainly.pools.map((pool) => ({ ...pool, name: hostile }));
    const lines = text(fleet([node(1, { nodePool: hostile, zone: hostile })], { pools }), {
      columns: 200,
    });
    const [head = "", pool = ""] = lines.slice(2);
    expect(pool.indexOf("$")).toBe(head.indexOf("$/H") - 4);
    for (const columns of [40, 60, 80, 200])
      expect(
        text(fleet([node(1)], { pools }), { columns }).filter((line) => line.length > columns),
      ).toEqual([]);
    expect(text(fleet([node(1)], { pools }), { columns: 80 })[3]).toMatch(/ 1 {6}0$/);
  });

  it("keeps prices, and leaves out bars, on a narrow screen", () => {
    const lines = text(fleet([node(1)]), { columns: 40 });
    expect(lines[2]).toMatch(/^POOL +NODES +\$\/H +MOVING$/);
    expect(lines[3]).toContain("$0.");
  });

  it("shows no price where none is known, and large numbers with separators", () => {
    const { pools, totals } = fleet([node(1)]);
    const [pool] = pools.map((one) => ({ ...one, priceMicroUsdPerHour: 0 }));
    const many = { ...totals, waiting: 10_000, unpriced: 1_200 };
    const lines = text(
      fleet([node(1)], { pools: pool === undefined ? [] : [pool], totals: many }),
      { columns: 200 },
    );
    expect(lines[0]).toContain("and 1,200 of unknown price");
    expect(lines[0]).toContain("10,000 waiting");
    expect(lines[3]).toMatch(/ – /);
  });

  it("shows instance types whole on a wide screen", () => {
    const one = fleet([node(1, { instanceType: "u7in-16tb.224xlarge" })]);
    expect(text(one, { columns: 200 }).join("\n")).toContain("u7in-16tb.224xlarge");
    expect(text(one, { columns: 100 }).join("\n")).toContain("u7in-16tb.224…");
  });

  it("shows totals, pools, nodes and pending pods within 80 columns", () => {
    const waiting = [
      {
        waitingFor: "nothing",
        rejected: { resources: 714 },
        pods: 2,
        example: "shop/web-1",
        since: "2026-01-01T07:55:00Z",
      },
    ] as const;
    const nodes = [node(1), node(2, { state: "draining", since: "2026-01-01T07:59:20Z" })];
    const one = fleet(nodes, { waiting, totals: { ...fleet(nodes).totals, waiting: 2 } });
    expect(text(one)).toEqual([
      "prod 08:00:00  2 nodes  $0.0760/h  CPU 50%  memory 25%  14 pods  2 waiting 5m",
      "",
      "POOL      NODES  CPU              MEMORY                 $/H  MOVING   HELD",
      "default       2  █████░░░░░  50%  ███░░░░░░░  25%    $0.0760       1      0",
      "",
      "NODE                    TYPE            CPU              PODS  STATE           ",
      "● ip-10-0-0-1           m5.large        █████░░░░░  50%     7",
      "◑ ip-10-0-0-2           m5.large        █████░░░░░  50%     7  draining 40s",
      "",
      "WAITING",
      "2 pods for 5m: instance types ruled out: 714 too small for its requests",
      "(shop/web-1, …)",
      "",
    ]);
    expect(text(one, { rows: 24 })).toContain(
      "2 pods for 5m: instance types ruled out: 714 too small for its requests (shop/w…",
    );
  });

  it("says how many pods wait, and why, however large the numbers and long the names are", () => {
    const waiting = [
      { waitingFor: "nodeWanted", pods: 10_000, example: `shop/${"n".repeat(253)}` },
    ] as const;
    const { totals } = fleet([node(1)]);
    const many = { ...totals, nodes: 5_250, pods: 45_240, waiting: 10_000, unpriced: 44 };
    const lines = text(fleet([node(1)], { waiting, totals: many }), { columns: 80 });
    expect(lines[0]).toBe(
      "prod 08:00:00  5,250 nodes  $0.0380/h and 44 of unknown price  10,000 waiting",
    );
    expect(lines.find((line) => line.startsWith("10,000 pods"))).toMatch(
      /^10,000 pods: a new node will be launched for them \(shop\/n+…$/,
    );
  });

  it("leaves out the middle of a long name, so that names that differ at either end are told apart", () => {
    const names = [
      `node-1-${"n".repeat(246)}`,
      `node-2-${"n".repeat(246)}`,
      `${"n".repeat(250)}-3`,
    ];
    const lines = text(fleet(names.map((name, at) => ({ ...node(at), name }))), { columns: 80 });
    const shown = lines.filter((line) => /^● \S*…/.test(line)).map((line) => line.split(" ")[1]);
    expect(new Set(shown).size).toBe(3);
  });

  it("has more columns on a wider screen", () => {
    const [head] = text(fleet([node(1, { held: "pdb shop/web" })]), { columns: 200 }).filter(
      (line) => line.startsWith("NODE "),
    );
    expect(head).toMatch(/TYPE .*\$\/H .*MEMORY .*AGE .*ZONE .*CAPACITY .*POOL .*HELD BY *$/);
  });

  it("fills the screen exactly, with the selected node in view", () => {
    const many = fleet(Array.from({ length: 500 }, (_, index) => node(index)));
    const view = { ...FIRST_VIEW, sort: "name" as const, selected: 250 };
    const [selected = ""] = (many.nodes.map(({ name }) => name).toSorted()[250] ?? "").split(".");
    for (const rows of [10, 24, 50]) {
      const lines = text(many, { rows }, {}, view);
      expect(lines.length).toBe(rows);
      expect(lines.some((line) => line.includes(`${selected} `))).toBe(true);
    }
  });

  it("says what to do if there is nothing to show", () => {
    expect(text(fleet([], { pools: [] })).join("\n")).toContain("The cluster has no nodes.");
    const none = { ...FIRST_VIEW, filter: "nope" };
    expect(text(fleet([node(1)]), {}, {}, none).join("\n")).toContain('No node matches "nope".');
  });

  it("keeps the last picture and shows the error of a failed reading", () => {
    const lines = text(
      fleet([node(1)]),
      { rows: 24 },
      { problem: "the cluster could not be read" },
    );
    expect(lines.at(-1)).toBe("the cluster could not be read");
    expect(lines.some((line) => line.includes("ip-10-0-0-1"))).toBe(true);
  });

  it("wraps the explanation of a node between words", () => {
    const explanation = [`  ${"long words ".repeat(20).trim()}`];
    const lines = text(fleet([node(1)]), { rows: 24 }, { explanation });
    expect(lines.every((line) => line.length <= 80)).toBe(true);
    expect(lines.filter((line) => line.startsWith("  long")).length).toBe(3);
  });

  it("has only ASCII characters if asked", () => {
    const lines = text(fleet([node(1, { state: "launching" })]), { isAscii: true });
    expect(lines.join("")).toMatch(/^[\x20-\x7e]*$/);
  });

  it("shows control characters in names as escapes", () => {
    const lines = text(fleet([node(1, { name: "evil\u001b[2J" })]));
    expect(lines.join("\n")).not.toContain("\u001b");
  });
});

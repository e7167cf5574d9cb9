import { describe, expect, it } from "vitest";
import type { Fleet, FleetNode } from "../../core/answers/fleet.ts";
import { afterKey, FIRST_VIEW, type Key, SORTS, shownNodes } from "./view.ts";

const node = (name: string, more: Partial<FleetNode> = {}): FleetNode => ({
  name,
  state: "running",
  nodePool: "default",
  allocatable: { cpu: 4_000, memory: 8e9 },
  requested: { cpu: 1_000, memory: 1e9 },
  pods: 1,
  ...more,
});
const fleetOf = (...nodes: FleetNode[]): Fleet => ({
  at: "2026-01-01T08:00:00Z",
  nodes,
  pools: [],
  waiting: [],
  totals: {
    nodes: nodes.length,
    pods: 0,
    waiting: 0,
    allocatable: {},
    requested: {},
    priceMicroUsdPerHour: 0,
    unpriced: 0,
  },
});
const NAMES = ["a", "b", "c"];
const pressed = (...keys: Key[]) =>
  keys.reduce((view, key) => afterKey(view, key, NAMES), FIRST_VIEW);
const DOWN = { name: "down" };

describe("a key in karpenter top", () => {
  it("moves the selection within the list", () => {
    expect(pressed(DOWN, DOWN, DOWN, DOWN).selected).toBe(2);
    expect(pressed({ name: "up" }).selected).toBe(0);
    expect(pressed({ name: "end" }).selected).toBe(2);
  });

  it("opens the explanation of the selected node, and closes it", () => {
    expect(pressed(DOWN, { name: "return" }).explained).toBe("b");
    expect(pressed(DOWN, { name: "return" }, { name: "escape" })).not.toHaveProperty("explained");
  });

  it("shows the list of keys (?), and any further key closes that list", () => {
    const ask = { text: "?" };
    const explained = pressed(DOWN, { name: "return" }, ask);
    expect(explained).toMatchObject({ showsKeys: true, explained: "b" });
    expect(afterKey(explained, { name: "escape" }, NAMES)).toEqual(
      pressed(DOWN, { name: "return" }),
    );
    expect(pressed(ask, DOWN)).toEqual(FIRST_VIEW);
    expect(pressed(ask, { name: "q" }).isOver).toBe(true);
    expect(pressed({ text: "/" }, ask)).toMatchObject({ filter: "?", isTyping: true });
  });

  it("adds a letter to the filter while the filter is typed, even if the letter is a command elsewhere", () => {
    const slash = { text: "/" };
    const typed = pressed(slash, { name: "q", text: "q" }, { name: "s", text: "s" });
    expect(typed).toMatchObject({ isTyping: true, filter: "qs", isOver: false, sort: "pool" });
    expect(pressed(slash, { text: "x" }, { name: "backspace" }).filter).toBe("");
    expect(pressed(slash, { text: "x" }, { name: "return" })).toMatchObject({
      filter: "x",
      isTyping: false,
    });
    expect(pressed(slash, { text: "x" }, { name: "escape" }).filter).toBe("");
  });

  it("switches through all sort orders and back to the first", () => {
    const s = { name: "s", text: "s" };
    expect(pressed(...SORTS.map(() => s)).sort).toBe("pool");
    expect(pressed(s).sort).toBe("name");
  });

  it("quits (q and Ctrl-C), also while the filter is typed", () => {
    expect(pressed({ name: "q", text: "q" }).isOver).toBe(true);
    expect(pressed({ text: "/" }, { name: "c", ctrl: true }).isOver).toBe(true);
  });
});

describe("the nodes that karpenter top shows", () => {
  const nodes = fleetOf(
    node("a", { instanceType: "m5.large", priceMicroUsdPerHour: 10 }),
    node("b", { instanceType: "c5.large", priceMicroUsdPerHour: 30, requested: { cpu: 4_000 } }),
    node("c", { nodePool: "batch" }),
  );
  const names = (more: Partial<typeof FIRST_VIEW>) =>
    shownNodes(nodes, { ...FIRST_VIEW, ...more }).map(({ name }) => name);

  it("match the filter by name, pool, type, zone or state", () => {
    expect(names({ filter: "M5" })).toEqual(["a"]);
    expect(names({ filter: "batch" })).toEqual(["c"]);
    expect(names({ filter: "running" }).length).toBe(3);
  });

  it("are sorted, and equal ones are sorted by name", () => {
    expect(names({ sort: "pool" })).toEqual(["c", "a", "b"]);
    expect(names({ sort: "price" })).toEqual(["b", "a", "c"]);
    expect(names({ sort: "cpu" })).toEqual(["b", "a", "c"]);
  });
});

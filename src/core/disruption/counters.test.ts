import { describe, expect, it } from "vitest";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { pod } from "../../testing/builders.ts";
import type { PoolAllowance } from "./budgets.ts";
import type { Candidate } from "./candidates.ts";
import { budgetCounter, disruptionCounter } from "./counters.ts";

interface Options {
  readonly pool?: string;
  /** For each pod of the node: the value of its label `app`. */
  readonly apps?: readonly string[];
  readonly broken?: boolean;
  readonly initialized?: boolean;
}

function node({ pool = "a", apps = [], broken = false, initialized = true }: Options = {}) {
  return {
    pool: { id: pool },
    node: { initialized },
    ...(broken ? { broken: {} } : {}),
    reschedulablePods: apps.map((app) => pod({ name: app, labels: { app } })),
  } as unknown as Candidate;
}

function allowances(inAll: number, pools: Readonly<Record<string, number>>) {
  const everywhere = { allowed: inAll };
  return new Map(
    Object.entries(pools).map(([id, allowed]) => [id, { allowed, everywhere } as PoolAllowance]),
  );
}

const pdb = (app: string, disruptionsAllowed: number): PodDisruptionBudget => ({
  metadata: { name: app, namespace: "default" },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed } as NonNullable<PodDisruptionBudget["status"]>,
});

describe("budgetCounter", () => {
  it("counts the budgets of each pool and of the whole cluster", () => {
    const counter = budgetCounter(allowances(3, { a: 2, b: 2 }));
    const [a, b] = [node(), node({ pool: "b" })];
    expect([counter.left(a), counter.left(b)]).toEqual([2, 2]);
    expect([a, a, a].map((one) => counter.take(one))).toEqual([true, true, false]);
    expect([counter.left(a), counter.left(b)]).toEqual([0, 1]);
    expect([b, b].map((one) => counter.take(one))).toEqual([true, false]);
  });

  it("allows no node of an unknown pool", () => {
    const counter = budgetCounter(allowances(3, { a: 2 }));
    expect(counter.take(node({ pool: "other" }))).toBe(false);
    expect(counter.fits([node({ pool: "other" })])).toBe(false);
    expect(budgetCounter(new Map()).take(node())).toBe(false);
  });

  it("does not count a node that is broken and not initialized", () => {
    const counter = budgetCounter(allowances(1, { a: 1 }));
    const broken = node({ broken: true, initialized: false });
    expect(counter.left(broken)).toBe(Number.POSITIVE_INFINITY);
    expect([broken, broken].map((one) => counter.take(one))).toEqual([true, true]);
    expect(counter.left(node({ broken: true }))).toBe(1);
    expect(counter.left(node({ initialized: false }))).toBe(1);
  });

  it("allows a command only if all of its nodes fit", () => {
    const { fits } = budgetCounter(allowances(3, { a: 2, b: 2 }));
    const [a, b] = [node(), node({ pool: "b" })];
    expect([fits([a, a, b]), fits([a, a, a]), fits([a, a, b, b])]).toEqual([true, false, false]);
    expect(fits([a, b, b, b])).toBe(false);
  });
});

describe("budgets and PodDisruptionBudgets together", () => {
  const counter = (...pdbs: readonly PodDisruptionBudget[]) =>
    disruptionCounter({ allowances: allowances(9, { a: 3 }), pdbs });

  it("allows nodes only if PodDisruptionBudgets allow all their pods together", () => {
    const { take, left } = counter(pdb("web", 2));
    const web = node({ apps: ["web"] });
    expect([web, web, web].map((one) => take(one))).toEqual([true, true, false]);
    // A node that is refused uses up nothing of its NodePool's budget.
    expect(left(web)).toBe(1);
    expect(take(node({ apps: ["other"] }))).toBe(true);
  });

  it("allows the first node, even if its pods exceed a PodDisruptionBudget", () => {
    const { take } = counter(pdb("web", 1));
    expect(take(node({ apps: ["web", "web", "web"] }))).toBe(true);
    expect(take(node({ apps: ["web"] }))).toBe(false);
    expect(counter({ ...pdb("web", 0), status: undefined as never }).take(node())).toBe(true);
  });

  it("leaves a PodDisruptionBudget unchanged if the pool's budget refuses the node", () => {
    const { take } = disruptionCounter({
      allowances: allowances(9, { a: 1, b: 1 }),
      pdbs: [pdb("web", 1)],
    });
    const web = node({ apps: ["web"] });
    expect([take(node()), take(web)]).toEqual([true, false]);
    expect(take(node({ pool: "b", apps: ["web"] }))).toBe(true);
  });

  it("takes all nodes of a command or none", () => {
    const { takeAll, left } = counter(pdb("web", 2));
    const web = node({ apps: ["web"] });
    expect(takeAll([web, web, web, web])).toBe(false);
    expect(left(web)).toBe(3);
    expect(takeAll([web, web])).toBe(true);
    expect(left(web)).toBe(1);
    expect(takeAll([web])).toBe(false);
    expect(takeAll([node()])).toBe(true);
    expect(left(web)).toBe(0);
  });
});

// Waiting pods that would take the room of a replacement before those that it is made for.
import { describe, expect, it } from "vitest";
import type { Taint } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { instanceType, pod, SCHEDULING_OPTIONS } from "../../testing/builders.ts";
import { type CandidateOptions, candidate, methodInput } from "../../testing/disruption.ts";
import { rivalry } from "./rivals.ts";

const TYPES = [instanceType({ cpu: 4 })];
const GUARD: PodDisruptionBudget = {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "guard", namespace: "default" },
  spec: { selector: { matchLabels: { app: "web" } } },
};
const TOLD = `pod "default/waits" waits for room and could take what pod "default/old-0" must have before it may go`;

describe("a pod that waits without a place", () => {
  it("holds up the move of a pod that a budget guards, or that moves first, to a node it could be on", () => {
    expect(held([waiting("2")])).toBe(TOLD);
    expect(held([waiting("2")], { pdbs: [], movesFirst: () => true })).toBe(TOLD);
  });

  it("holds up nobody who may go before a new one is there", () => {
    expect(held([waiting("2")], { pdbs: [] })).toBeUndefined();
  });

  it("holds up nobody whose new node has room for both, or none for it", () => {
    expect(held([waiting("500m")])).toBeUndefined();
    expect(held([waiting("500m"), waiting("500m"), waiting("500m")])).toBe(TOLD);
    expect(held([waiting("5")])).toBeUndefined();
  });

  it("holds up nobody where labels and taints keep it off the new node", () => {
    const selector = { nodeSelector: { "kubernetes.io/arch": "arm64" } };
    expect(held([waiting("2", selector)])).toBeUndefined();
    const taints = [{ key: "team", value: "a", effect: "NoSchedule" }] as const;
    expect(held([waiting("2")], {}, { pool: FULL }, taints)).toBeUndefined();
  });

  it("holds up nobody where it has a place of its own: a new node can be made for it", () => {
    expect(held([waiting("2")], {}, { pool: {} })).toBeUndefined();
  });
});

const FULL = { limits: { cpu: 4_000 } };

function waiting(cpu: string, spec: Partial<Pod["spec"]> = {}): Pod {
  const one = pod({ name: "waits", cpu, labels: { app: "other" } });
  return { ...one, spec: { ...one.spec, ...spec } };
}

/** Of a node with a guarded pod of 3 cpu, by default in a pool that may have no second node; `taints`: of the new one. */
function held(
  pods: readonly Pod[],
  facts: Partial<Parameters<typeof rivalry>[1]> = {},
  options: CandidateOptions = { pool: FULL },
  taints: readonly Taint[] = [],
): string | undefined {
  const own = { types: TYPES, pods: ["3"], podLabels: { app: "web" } };
  const old = candidate("old", { ...own, ...options });
  const pools = [{ pool: old.pool, instanceTypes: TYPES, usage: { cpu: 4_000 } }];
  const { simulator } = methodInput([old], { types: TYPES, scheduling: { pods, pools } });
  const { replacements } = simulator.without([old]);
  expect(replacements.length).toBe(1);
  return rivalry(
    { replacements: replacements.map((plan) => ({ ...plan, pool: { ...plan.pool, taints } })) },
    {
      stranded: simulator.stranded,
      pdbs: [GUARD],
      movesFirst: () => false,
      wellKnownLabels: SCHEDULING_OPTIONS.wellKnownLabels,
      ...facts,
    },
  )?.message;
}

import { expect, it } from "vitest";
import type { Resources } from "../../apis/resources.ts";
import { Random } from "../../base/random.ts";
import { atOnce } from "../../base/steps.ts";
import {
  instanceType,
  pod,
  poolInput,
  SCHEDULING_OPTIONS,
  schedulingInput,
} from "../../testing/builders.ts";
import type { PoolInput, SchedulingInput } from "../provisioning/scheduling-input.ts";
import { solve } from "../provisioning/solve.ts";
import { launchStop } from "./launch-stop.ts";

const CASES = 400;

/** Requirements that few, some or all of the types below satisfy. */
const REQUIREMENTS = [
  { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
  { key: "kubernetes.io/arch", operator: "In", values: ["arm64"] },
  { key: "kubernetes.io/arch", operator: "In", values: ["riscv"] },
  { key: "karpenter.sh/capacity-type", operator: "In", values: ["spot"] },
  { key: "topology.kubernetes.io/zone", operator: "NotIn", values: ["zone-a", "zone-b"] },
  { key: "node.kubernetes.io/instance-type", operator: "Exists", minValues: 3 },
  { key: "topology.kubernetes.io/zone", operator: "Exists", minValues: 2 },
  { key: "team", operator: "In", values: ["red"] },
] as const;

function drawPool(random: Random): PoolInput {
  const types = Array.from({ length: random.int(4) }, (_, at) => {
    const arch = random.int(3) === 0 ? "arm64" : "amd64";
    const type = instanceType({ name: `m-${at}`, cpu: 2 ** (1 + random.int(4)), arch });
    const offerings = type.offerings
      .filter(() => random.int(4) > 0)
      .map((one) => ({ ...one, available: random.int(3) > 0 }));
    return { ...type, offerings };
  });
  const requirements = REQUIREMENTS.filter(() => random.int(5) === 0);
  const limits: Resources = {
    ...(random.int(3) === 0 ? { cpu: 1_000 * random.int(12) } : {}),
    ...(random.int(5) === 0 ? { nodes: random.int(3) } : {}),
  };
  const usage: Resources = { cpu: 1_000 * random.int(6), nodes: random.int(2) };
  const taints = random.int(3) === 0 ? [{ key: "own", effect: "NoSchedule" as const }] : [];
  return { ...poolInput({ requirements, limits, taints }, types), usage };
}

function drawDaemons(random: Random): SchedulingInput["daemonPods"] {
  if (random.int(4) > 0) return [];
  const tolerations = [{ operator: "Exists" as const }];
  return [pod({ name: "agent", cpu: `${1 + random.int(20)}`, spec: { tolerations } })];
}

/** A pod that any node with some room takes. */
const SMALL = pod({ cpu: "0", memory: "0", spec: { tolerations: [{ operator: "Exists" }] } });

it("a pool can launch nothing exactly if planning places no pod on it, and planning's notes agree", () => {
  const told = new Map<string, number>();
  for (let seed = 0; seed < CASES; seed++) {
    const random = new Random(seed);
    const own = drawPool(random);
    const minValuesPolicy = random.int(3) === 0 ? "BestEffort" : "Strict";
    const input = schedulingInput({
      pools: [own],
      daemonPods: drawDaemons(random),
      options: { ...SCHEDULING_OPTIONS, minValuesPolicy },
    });
    const stop = atOnce(launchStop(own, input));
    const result = solve({ ...input, pods: [SMALL] });
    expect(stop === undefined, `seed ${seed}: ${stop}`).toBe(result.newClaims.length > 0);
    const big = pod({ ...SMALL.metadata, cpu: `${1 + random.int(8)}`, spec: SMALL.spec });
    if (stop !== undefined) expect(solve({ ...input, pods: [big] }).newClaims).toEqual([]);

    const [excluded] = result.excludedByLimits;
    const byPlanning = [
      ...(result.withoutTypes ?? []).map(() => "types"),
      ...(excluded !== undefined && excluded.excluded === excluded.total ? ["limits"] : []),
      ...(result.withTooFewTypes ?? []).map(() => "minValues"),
    ];
    if (byPlanning.length > 0) expect(stop, `seed ${seed}: ${byPlanning}`).toBeDefined();
    if (stop === undefined) continue;
    const kind = kindOf(stop);
    told.set(kind, (told.get(kind) ?? 0) + 1);
    if (kind === "types") expect(byPlanning, `seed ${seed}: ${stop}`).toContain("types");
    if (kind === "limits") expect(byPlanning, `seed ${seed}: ${stop}`).toContain("limits");
    if (kind === "other") expect(byPlanning, `seed ${seed}: ${stop}`).toEqual([]);
  }
  for (const kind of ["types", "nodes", "limits", "minValues", "other"])
    expect(told.get(kind), kind).toBeGreaterThan(0);
});

/** Which sentence it is. `other`: the sentence of planning itself. */
function kindOf(stop: string): string {
  if (stop.startsWith("spec.limits.nodes")) return "nodes";
  if (/^(spec\.limits|each of its)/.test(stop)) return "limits";
  if (stop.startsWith("minValues of ")) return "minValues";
  return /^(no instance type has (all of )?\S+ (In|NotIn|Exists)|none of its|its node class)/.test(
    stop,
  )
    ? "types"
    : "other";
}

it("a pool that can launch nothing because of limits names only the limits that are short", () => {
  const limits = { cpu: 8_000, memory: 2 ** 30 };
  const own = poolInput({ limits }, [instanceType({ cpu: 4 })]);
  expect(atOnce(launchStop(own, schedulingInput({ pools: [own] })))).toBe(
    "spec.limits.memory has 1Gi left, its smallest instance type has 16Gi",
  );
});

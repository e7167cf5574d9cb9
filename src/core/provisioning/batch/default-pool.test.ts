import { describe, expect, it } from "vitest";
import type { Pool } from "../../../apis/hub/pool.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import { solve } from "../solve.ts";

const KEY = "karpenter.sh/default-nodepool";
const NODEPOOL = "karpenter.sh/nodepool";
const [cheap, dear] = [1_000, 9_000].map((priceMicroUsd) => {
  const type = instanceType({ cpu: 4 });
  return { ...type, offerings: type.offerings.map((one) => ({ ...one, priceMicroUsd })) };
});

const team = (value: string) => ({ metadata: { name: "team", annotations: { [KEY]: value } } });
const named = (name: string, more: Partial<Pool> = {}) => ({
  name,
  id: `nodepool/${name}`,
  ...more,
});
const POOLS = [
  poolInput(named("cheap"), [cheap as never]),
  poolInput(named("batch"), [dear as never]),
];

/** The names of the pods on new nodes of each pool, by the name of the pool. */
function planned(input: Partial<SchedulingInput>): Readonly<Record<string, readonly string[]>> {
  const { newClaims } = solve(schedulingInput({ pools: POOLS, ...input }));
  const all: Record<string, string[]> = {};
  for (const { pool, pods } of newClaims)
    all[pool.name] = [...(all[pool.name] ?? []), ...pods.map(({ metadata }) => metadata.name)];
  return all;
}

describe("the default pool of a namespace", () => {
  const ours = pod({ name: "ours", namespace: "team", cpu: "1" });
  const theirs = pod({ name: "theirs", namespace: "other", cpu: "1" });

  it("takes the pods of its namespace, and no others", () => {
    expect(planned({ pods: [ours, theirs], namespaces: [team("batch")] })).toEqual({
      cheap: ["theirs"],
      batch: ["ours"],
    });
  });

  it("gives way to a pool that the pod selects by node selector or node affinity", () => {
    const nodeSelectorTerms = [
      { matchExpressions: [{ key: NODEPOOL, operator: "In" as const, values: ["cheap"] }] },
    ];
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    const pods = [
      pod({ name: "a", namespace: "team", spec: { nodeSelector: { [NODEPOOL]: "cheap" } } }),
      pod({ name: "b", namespace: "team", spec: { affinity: { nodeAffinity } } }),
    ];
    expect(Object.keys(planned({ pods, namespaces: [team("batch")] }))).toEqual(["cheap"]);
  });

  it("may be a Provisioner, which has another label key", () => {
    const provisioner = { name: "old", id: "provisioner/old", generation: "alpha" } as const;
    const pools = [...POOLS, poolInput(provisioner, [dear as never])];
    const namespaces = [team("provisioner/old")];
    expect(planned({ pods: [ours], pools, namespaces })).toEqual({ old: ["ours"] });
  });

  it("keeps pods pending if it does not exist, and each pool's refusal names it", () => {
    const input = schedulingInput({ pools: POOLS, pods: [ours], namespaces: [team("gone")] });
    const [refused] = solve(input).unschedulable;
    expect(refused?.pools.map(({ why }) => why)).toEqual(
      POOLS.map(() => `namespace "team" keeps its pods to NodePool "gone" (annotation ${KEY})`),
    );
  });

  it("does not apply to DaemonSet pods", () => {
    const daemon = pod({
      name: "agent",
      namespace: "team",
      cpu: "1",
      owner: { kind: "DaemonSet", name: "agent" },
    });
    const input = { pods: [theirs], daemonPods: [daemon], namespaces: [team("batch")] };
    const [claim] = solve(schedulingInput({ pools: POOLS, ...input })).newClaims;
    expect(claim?.pool.name).toBe("cheap");
    expect(claim?.requests["cpu"]).toBe(2_000);
  });
});

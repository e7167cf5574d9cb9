// Cases in which a pending pod may take the room on a replacement before the pods for which it was planned.
import { describe, expect, it } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import type { Taint } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { instanceType, pod, SCHEDULING_OPTIONS } from "../../testing/builders.ts";
import { type CandidateOptions, candidate, roundOf } from "../../testing/disruption.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import { BIND_COMPLETED_ANNOTATION_KEY } from "../scheduling/volumes.ts";
import { competitionHoldOff, pendingEvictions } from "./competing-pods.ts";

const TYPES = [instanceType({ cpu: 4 })];
const GUARD: PodDisruptionBudget = {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "guard", namespace: "default" },
  spec: { selector: { matchLabels: { app: "web" } } },
};
const TOLD = `pod "default/waits" waits because its nodepools are at their limits, and could take the room on a new node that pod "default/old-0" must have before it may go`;

describe("a pending pod without a place", () => {
  it("blocks the move of a protected pod to a new node that it could use itself", () => {
    expect(held([waiting("2")])).toBe(TOLD);
    expect(held([waiting("2")], { pdbs: [], movesFirst: () => true })).toBe(TOLD);
  });

  it("does not block the move of a pod that may be evicted before its new node is there", () => {
    expect(held([waiting("2")], { pdbs: [] })).toBeUndefined();
  });

  it("does not block a move if the new node has room for both pods, or is too small for it", () => {
    expect(held([waiting("500m")])).toBeUndefined();
    expect(held([waiting("500m"), waiting("500m"), waiting("500m")])).toBe(TOLD);
    expect(held([waiting("5")])).toBeUndefined();
  });

  it("does not block a move if node selector or taints keep it off the new node", () => {
    const selector = { nodeSelector: { "kubernetes.io/arch": "arm64" } };
    expect(held([waiting("2", selector)])).toBeUndefined();
    const taints = [{ key: "team", value: "a", effect: "NoSchedule" }] as const;
    expect(held([waiting("2")], {}, { pool: FULL }, { taints })).toBeUndefined();
  });

  it("does not block a move if something other than limits keeps it pending", () => {
    const term = { topologyKey: "topology.kubernetes.io/zone", labelSelector: SELECTS_NOBODY };
    const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    expect(held([waiting("2", { affinity })])).toBeUndefined();
    expect(held([waiting("2", withVolume("no-such-claim"))])).toBeUndefined();
    expect(held([waiting("2", withVolume("in-zone-x"))])).toBeUndefined();
    expect(held([waiting("2", { nodeSelector: { team: "a" } })])).toBeUndefined();
  });

  it("does not block a move if its volume is in another zone than the new node", () => {
    expect(held([waiting("2", withVolume("in-zone-b"))], {}, { pool: IN_ZONE_B })).toBe(TOLD);
    const requirements = [{ key: ZONE, operator: "In", values: ["zone-a"] }] as const;
    const inZoneA = { requirements };
    expect(held([waiting("2", withVolume("in-zone-b"))], {}, undefined, inZoneA)).toBeUndefined();
  });

  it("does not block a move if the PodDisruptionBudget allows all evictions at once", () => {
    const allowing = (disruptionsAllowed: number) => ({
      pdbs: [{ ...GUARD, status: { disruptionsAllowed } }],
    });
    const two = { pool: FULL, pods: ["1", "2"], podLabels: { app: "web" } };
    expect(held([waiting("2")], allowing(1))).toBeUndefined();
    expect(held([waiting("2")], allowing(2), two)).toBeUndefined();
    expect(held([waiting("2")], allowing(1), two)).toBe(TOLD.replace("old-0", "old-1"));
    // The budget has already allowed the evictions that are in progress.
    const { pdbs } = allowing(1);
    const gone = {
      ...pod({ name: "gone", labels: { app: "web" } }),
      status: { phase: "Succeeded" as const },
    };
    const beside = (pods: readonly Pod[]) => {
      const leaves = { ...candidate("leaves").node, deleting: true, pods };
      return () => pendingEvictions([leaves], pdbs);
    };
    const goes = pod({ name: "goes", labels: { app: "web" } });
    expect(held([waiting("2")], { pdbs, pending: beside([goes]) })).toBe(TOLD);
    // The budget has already counted pods that have ended or are being deleted.
    const ends = {
      ...goes,
      metadata: { ...goes.metadata, deletionTimestamp: "2026-01-05T00:00:00Z" },
    };
    expect(held([waiting("2")], { pdbs, pending: beside([gone, ends]) })).toBeUndefined();
  });

  it("does not block the move of an unready pod whose PodDisruptionBudget is AlwaysAllow", () => {
    const spec = { ...GUARD.spec, unhealthyPodEvictionPolicy: "AlwaysAllow" as const };
    expect(held([waiting("2")], { pdbs: [{ ...GUARD, spec }] })).toBeUndefined();
  });

  it("does not block the removal of a node with a terminationGracePeriod", () => {
    expect(held([waiting("2")], {}, undefined, { terminationGracePeriod: "1h" })).toBeUndefined();
  });

  it("does not block a move if it and the DaemonSet pods need a larger type than the new node", () => {
    const types = [instanceType({ cpu: 4 }), instanceType({ cpu: 8 })];
    const full = { pool: { limits: { cpu: 4_000 } }, types };
    expect(held([waiting("3900m")], {}, full)).toBe(TOLD);
    expect(held([waiting("4500m")], {}, full)).toBeUndefined();
    const daemon = pod({ name: "daemon", cpu: "500m" });
    expect(held([waiting("3900m")], {}, full, { daemons: [daemon] })).toBeUndefined();
  });

  it("blocks a move even if the new node has a PreferNoSchedule taint", () => {
    const taints = [{ key: "team", value: "a", effect: "PreferNoSchedule" }] as const;
    expect(held([waiting("2")], {}, undefined, { taints })).toBe(TOLD);
  });

  it("is compared with the types of the new node only if it tolerates the taints of that node", () => {
    let looks = 0;
    const looked = () => looks++;
    const taints = [{ key: "team", value: "a", effect: "NoSchedule" }] as const;
    held([waiting("2")], {}, undefined, { taints, looked });
    expect(looks).toBe(0);
    held([waiting("2")], {}, undefined, { looked });
    expect(looks).toBe(1);
  });

  it("does not block a move if a new node can be launched for it", () => {
    expect(held([waiting("2")], {}, { pool: {} })).toBeUndefined();
  });
});

const FULL = { limits: { cpu: 4_000 } };
const ZONE = "topology.kubernetes.io/zone";
const IN_ZONE_B = {
  ...FULL,
  requirements: [{ key: ZONE, operator: "In", values: ["zone-b"] }],
} as const;
const SELECTS_NOBODY = { matchLabels: { app: "nobody" } };

const volumeIn = (zone: string): PersistentVolume => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name: `in-${zone}` },
  spec: {
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: "In", values: [zone] }] }],
      },
    },
  },
});
const PERSISTENT = [volumeIn("zone-b"), volumeIn("zone-x")];
const BOUND = PERSISTENT.map(
  ({ metadata: { name } }): PersistentVolumeClaim => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name,
      namespace: "default",
      annotations: { [BIND_COMPLETED_ANNOTATION_KEY]: "yes" },
    },
    spec: { volumeName: name },
    status: { phase: "Bound" },
  }),
);

const VOLUMES = { claims: BOUND, volumes: PERSISTENT, classes: [], csiNodes: [] };

/** A pod that uses the bound volume claim of this name. */
const withVolume = (claimName: string): Partial<Pod["spec"]> => ({
  volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
});

function waiting(cpu: string, spec: Partial<Pod["spec"]> = {}): Pod {
  const one = pod({ name: "waits", cpu, labels: { app: "other" } });
  return { ...one, spec: { ...one.spec, ...spec } };
}

interface Others {
  /** Taints of the new node. */
  readonly taints?: readonly Taint[];
  readonly requirements?: PlannedClaim["requirements"];
  /** Called whenever the instance types are read. */
  readonly looked?: () => void;
  /** The grace period of the old node. */
  readonly terminationGracePeriod?: string;
  readonly daemons?: readonly Pod[];
}

/**
 * The hold-off of a command that replaces a node with a protected pod of 3 cpu. By default, the pool may have no second
 * node.
 */
function held(
  pods: readonly Pod[],
  facts: Partial<Parameters<typeof competitionHoldOff>[1]> = {},
  options: CandidateOptions = { pool: FULL },
  { taints = [], requirements, looked, terminationGracePeriod, daemons = [] }: Others = {},
): string | undefined {
  const { types = TYPES } = options;
  const own = { types, pods: ["3"], podLabels: { app: "web" } };
  const old = candidate("old", { ...own, ...options });
  const pools = [{ pool: old.pool, instanceTypes: types, usage: { cpu: 4_000 } }];
  const scheduling = { pods, pools, volumes: VOLUMES, daemonPods: daemons };
  const { simulator } = roundOf([old], { types, scheduling }).facts;
  const { replacements } = simulator.without([old]);
  expect(replacements.length).toBe(1);
  const spec = { ...old.claim.spec, ...(terminationGracePeriod && { terminationGracePeriod }) };
  return competitionHoldOff(
    {
      candidates: [{ ...old, claim: { ...old.claim, spec } }],
      replacements: replacements.map((plan) => ({
        ...plan,
        requirements: requirements ?? plan.requirements,
        pool: { ...plan.pool, taints },
        get instanceTypes() {
          looked?.();
          return plan.instanceTypes;
        },
      })),
    },
    {
      podsOverLimits: simulator.podsOverLimits,
      pending: () => new Map(),
      pdbs: [GUARD],
      movesFirst: () => false,
      wellKnownLabels: SCHEDULING_OPTIONS.wellKnownLabels,
      ...facts,
    },
  )?.message;
}

import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { planBatch } from "../planner/plan-batch.ts";
import { GREEDY_PLANNER } from "../planner/planner-options.ts";
import { solve } from "../provisioning/solve.ts";
import { remedies } from "./fixes/remedy.ts";
import { MOST_PASSES, playPasses } from "./planning-passes.ts";

const RESERVATION = "karpenter.sh/reservation-id";

/** Reservations with these numbers of units, each in its own zone. */
function reserved(units: readonly number[]) {
  const offerings = units.map((reservationCapacity, index) => ({
    ...{ zone: `zone-${index}`, capacityType: "reserved" as const, available: true },
    ...{ priceMicroUsd: 0, reservationCapacity, labels: { [RESERVATION]: `cr-${index}` } },
  }));
  return instanceType({ name: "c-2x", cpu: 2, offerings });
}

function pods(count: number) {
  return Array.from({ length: count }, (_, index) => pod({ name: `p-${index}`, cpu: "1500m" }));
}

function inputFor(type: ReturnType<typeof reserved>, some: ReturnType<typeof pods>) {
  const { options, ...rest } = schedulingInput({ pods: some, pools: [poolInput({}, [type])] });
  return { ...rest, options: { ...options, wellKnownLabels: [RESERVATION] } };
}

describe("simulated planning passes", () => {
  it("use each unit of a reservation once", () => {
    const { result, passes, isSettled } = playPasses(inputFor(reserved([1, 1, 2]), pods(6)), solve);
    expect(result.newClaims.map(({ cheapest }) => cheapest.zone).sort()).toEqual([
      "zone-0",
      "zone-1",
      "zone-2",
      "zone-2",
    ]);
    expect(result.unschedulable).toHaveLength(2);
    expect(result.unschedulable.some(({ deferred }) => deferred)).toBe(false);
    expect({ passes, isSettled }).toEqual({ passes: 3, isSettled: true });
  });

  it("need one pass if all pods have a place at once", () => {
    const offerings = [
      {
        ...{ zone: "zone-a", capacityType: "on-demand" as const },
        ...{ available: true, priceMicroUsd: 1 },
      },
    ];
    const input = inputFor(instanceType({ name: "c-2x", cpu: 2, offerings }), pods(3));
    expect(playPasses(input, solve)).toEqual({
      result: solve(input),
      passes: 1,
      isSettled: true,
    });
  });

  it("use the room under a quota once", () => {
    const reservation = {
      zone: "zone-r",
      capacityType: "reserved" as const,
      reservationCapacity: 1,
    };
    const bought = { zone: "zone-a", capacityType: "on-demand" as const };
    const offerings = [
      { ...reservation, available: true, priceMicroUsd: 0, labels: { [RESERVATION]: "cr-1" } },
      { ...bought, available: true, priceMicroUsd: 1, quota: { id: "usual", units: 2 } },
    ];
    const type = instanceType({ name: "c-2x", cpu: 2, offerings });
    const input = { ...inputFor(type, pods(6)), quotaRoom: new Map([["usual", 4]]) };
    const { result } = playPasses(input, (seen) => planBatch(seen, GREEDY_PLANNER));
    expect(result.newClaims).toHaveLength(3);
    expect(result.unschedulable).toHaveLength(3);
  });

  describe("of a StatefulSet", () => {
    const types = [2, 4, 16].map((cpu) =>
      instanceType({ name: `c-${cpu}x`, cpu, capacityTypes: ["on-demand"], priceMicroUsd: cpu }),
    );
    const owner = { kind: "StatefulSet", name: "db" };
    const own = (cpu: string, exists = 0) =>
      [0, 1, 2].map((ordinal) => {
        const { metadata, ...one } = pod({ name: `db-${ordinal}`, cpu, owner });
        const { uid, ...rest } = metadata;
        return { ...one, metadata: ordinal < exists ? { ...rest, uid: uid ?? "u" } : rest };
      });
    const inputOf = (
      some: ReturnType<typeof own>,
      policy?: "OrderedReady" | "Parallel",
      limits = {},
    ) => {
      const set = {
        ...{ apiVersion: "apps/v1", kind: "StatefulSet" },
        metadata: { name: "db", namespace: "default" },
        spec: policy === undefined ? {} : { podManagementPolicy: policy },
      };
      return {
        ...schedulingInput({ pods: some, pools: [poolInput({ limits }, types)] }),
        defaultSpread: { constraints: [], services: [], workloads: [set as never] },
      };
    };
    const played = (...asked: Parameters<typeof inputOf>) => {
      const { result, passes } = playPasses(inputOf(...asked), solve);
      const nodes = result.newClaims.map(({ cheapest, pods: on }) =>
        [cheapest.instanceType, ...on.map(({ metadata }) => metadata.name)].join(" "),
      );
      const left = result.unschedulable.map(({ pod: one, message }) => [
        one.metadata.name,
        message,
      ]);
      return { nodes, passes, left };
    };

    it("plan its pods one after another, unless it creates them at once or they exist", () => {
      const apart = ["c-4x db-0", "c-4x db-1", "c-4x db-2"];
      const atOnce = ["c-16x db-0 db-1 db-2"];
      expect(played(own("2500m"))).toEqual({ nodes: apart, passes: 3, left: [] });
      expect(played(own("2500m"), "OrderedReady").nodes).toEqual(apart);
      expect(played(own("2500m"), "Parallel").nodes).toEqual(atOnce);
      expect(played(own("2500m", 3)).nodes).toEqual(atOnce);
      // The second pod finds room on the node of the first one.
      expect(played(own("800m")).nodes).toEqual(["c-2x db-0 db-1", "c-2x db-2"]);
    });

    it("plan more than 100 pods one after another, and count those that are planned at once", () => {
      const [one] = own("2500m") as [ReturnType<typeof pod>];
      const many = Array.from({ length: 120 }, (_, ordinal) => ({
        ...one,
        metadata: { ...one.metadata, name: `db-${ordinal}` },
      }));
      const all = playPasses(inputOf(many), solve);
      expect(all.result.newClaims).toHaveLength(120);
      expect([all.passes, all.createdAtOnce]).toEqual([120, undefined]);
      const few = playPasses(inputOf(many), solve, 3);
      expect(few.createdAtOnce).toBe(116);
      expect(few.result.newClaims.length).toBeLessThan(120);
    });

    it("say which pod the others wait for if it has no place", () => {
      const { nodes, left } = played(own("99"));
      expect(nodes).toEqual([]);
      expect(left[0]?.[1]).toContain("no instance type has enough resources");
      expect(left.slice(1)).toEqual([
        ["db-1", "StatefulSet db creates it only once its pod db-0 is ready"],
        ["db-2", "StatefulSet db creates it only once its pod db-1 is ready"],
      ]);
    });

    it("get one fix for the pod without a place and the pods that wait for it", () => {
      const input = inputOf(own("2500m"), "OrderedReady", { cpu: 4_000 });
      const all = (seen: typeof input) => playPasses(seen, solve).result;
      const fixes = remedies(input, all(input), all as never);
      const raise = "raise spec.limits.cpu of NodePool default from 4 to 12";
      expect([...fixes].map(([key, { fix }]) => [key, fix?.text])).toEqual([
        ["default/db-1", raise],
        ["default/db-2", raise],
      ]);
    });
  });

  it("stop after a maximum number, and say so", () => {
    const many = Array.from({ length: MOST_PASSES + 5 }, () => 1);
    const played = playPasses(inputFor(reserved(many), pods(many.length)), solve);
    expect(played.passes).toBe(MOST_PASSES);
    expect(played.isSettled).toBe(false);
    expect(played.result.newClaims).toHaveLength(MOST_PASSES);
    expect(played.result.unschedulable).toHaveLength(5);
  });
});

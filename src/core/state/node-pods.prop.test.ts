import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isActive, type Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { pod } from "../../testing/builders.ts";
import { NodePods, podSums, sortPods } from "./node-pods.ts";

interface Shape {
  readonly cpu: string;
  readonly gpu: string | undefined;
  readonly huge: string | undefined;
  readonly isAnnotated: boolean;
  readonly owner: "StatefulSet" | "DaemonSet" | undefined;
  readonly phase: "Running" | "Succeeded";
  readonly isLeaving: boolean;
}

/** Few different shapes, so that some pods are equal. Some resources are requested by one pod only. */
const shape = fc.record({
  cpu: fc.constantFrom("0", "100m", "2"),
  gpu: fc.constantFrom(undefined, "1"),
  huge: fc.constantFrom(undefined, "1", "9007199254740993"),
  isAnnotated: fc.boolean(),
  owner: fc.constantFrom(undefined, "StatefulSet" as const, "DaemonSet" as const),
  phase: fc.constantFrom("Running" as const, "Succeeded" as const),
  isLeaving: fc.boolean(),
});
const act = fc.record({
  name: fc.constantFrom("a", "b", "c", "d"),
  put: fc.option(shape, { nil: undefined }),
  /** Whether the state is read after this change. Many changes may happen between two reads. */
  look: fc.boolean(),
});

function podOf(name: string, shape: Shape): Pod {
  const { cpu, gpu, huge, owner: kind, phase } = shape;
  const made = pod({ name, requests: { cpu, ...(gpu ? { gpu } : {}), ...(huge ? { huge } : {}) } });
  const owner = kind && { apiVersion: "apps/v1", kind, name: "x", uid: "x", controller: true };
  return {
    ...made,
    metadata: {
      ...made.metadata,
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
      ...(shape.isAnnotated ? { annotations: { a: "b" } } : {}),
      ...(shape.isLeaving ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    status: { phase },
  };
}

describe("the pods of a node", () => {
  it("are sorted by key, with the same sums as a full count", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
        const kept = new NodePods();
        const known = new Map<string, Pod>();
        for (const { name, put, look } of acts) {
          const made = put && podOf(name, put);
          if (made === undefined) {
            kept.delete(name);
            known.delete(name);
          } else {
            kept.set(name, made);
            known.set(name, made);
          }
          if (!look) continue;
          const pods = [...known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
          expect(kept.list()).toEqual(pods);
          expect(kept.size).toBe(pods.length);
          expect(kept.get(name)).toBe(known.get(name));
          const { requests, daemonRequests, ...sorted } = kept.sums();
          const sums = { requests, daemonRequests };
          expect(JSON.stringify(sums)).toBe(JSON.stringify(podSums(pods)));
          const reschedulable = pods.filter(isReschedulable);
          const annotated = pods.filter(({ metadata }) => metadata.annotations !== undefined);
          expect(sorted).toEqual({
            reschedulable,
            movable: reschedulable.filter(isActive),
            annotated: annotated.filter(isActive),
          });
          expect(sortPods(pods)).toEqual(sorted);
        }
      }),
      { numRuns: 200 },
    );
  });
});

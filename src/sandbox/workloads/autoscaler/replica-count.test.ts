/**
 * Replicas for usages, pods that are not ready, and pods without samples. The expected figures were calculated
 * by hand.
 */
import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { type Question, replicasForAverage, replicasForUtilization } from "./replica-count.ts";

const NOW = 3_600_000;

interface Given {
  /** Usage of each pod in thousandths of the unit. Undefined: the pod has no sample. */
  readonly usages: readonly (number | undefined)[];
  readonly unready?: readonly number[];
  readonly pending?: readonly number[];
  readonly failed?: readonly number[];
  readonly currentReplicas?: number;
  readonly resource?: string;
  /** How long ago each pod started. */
  readonly ageMs?: number;
}

function question({ usages, resource = "cpu", ageMs = 60_000, ...given }: Given): Question {
  const phaseOf = (index: number): string =>
    given.pending?.includes(index)
      ? "Pending"
      : given.failed?.includes(index)
        ? "Failed"
        : "Running";
  const pods = usages.map(
    (_usage, index): Pod =>
      ({
        metadata: { name: `p${index}`, namespace: "default" },
        spec: {
          containers: [{ name: "main", resources: { requests: { cpu: "1", memory: "1000" } } }],
        },
        status: {
          phase: phaseOf(index),
          startTime: toRfc3339(NOW - ageMs),
          conditions: [
            {
              type: "Ready",
              status: given.unready?.includes(index) ? "False" : "True",
              lastTransitionTime: toRfc3339(NOW - ageMs),
            },
          ],
        },
      }) as unknown as Pod,
  );
  const samples = new Map(
    usages.flatMap((milli, index) =>
      milli === undefined ? [] : [[`p${index}`, { milli, atMs: NOW, windowMs: 15_000 }] as const],
    ),
  );
  const { currentReplicas = usages.length } = given;
  return { resource, container: undefined, currentReplicas, pods, samples, nowMs: NOW };
}

describe("the wanted replicas, for a target in percent of the requests", () => {
  it.each<[string, number, Given, number]>([
    ["grow in proportion above the target", 30, { usages: [300, 500, 700] }, 5],
    ["shrink in proportion below the target", 50, { usages: [100, 300, 500, 250, 250] }, 3],
    ["stay the same within a tenth of the target", 100, { usages: [1_010, 1_030, 1_020] }, 3],
    ["stay the same at exactly a tenth above the target", 100, { usages: [1_100, 1_100] }, 2],
    ["grow at slightly more than a tenth above the target", 100, { usages: [1_110, 1_110] }, 3],
    [
      "grow as if pods that are not ready were idle",
      30,
      { usages: [300, 500, 700], unready: [0] },
      4,
    ],
    [
      "stay the same with enough pods that are not ready",
      30,
      { usages: [400, 500, 700], unready: [1, 2] },
      3,
    ],
    ["grow as if pending pods were idle", 30, { usages: [600, 600, undefined], pending: [2] }, 4],
    [
      "shrink without counting pending pods",
      50,
      { usages: [100, 100, undefined], pending: [2] },
      1,
    ],
    [
      "do not depend on failed pods",
      50,
      { usages: [500, 700, 9_000], failed: [2], currentReplicas: 2 },
      3,
    ],
    ["grow as if pods without a sample were idle", 50, { usages: [950, 950, undefined] }, 4],
    [
      "shrink as if pods without a sample used their whole request",
      50,
      { usages: [100, 400, undefined] },
      3,
    ],
    [
      "do not grow by missing samples if the usage is below the target",
      50,
      { usages: [240, 240, undefined] },
      3,
    ],
  ])("%s", (_name, target, given, replicas) => {
    expect(replicasForUtilization(question(given), target)).toMatchObject({ replicas });
  });

  it("come with the utilization in whole percent, and the average", () => {
    expect(replicasForUtilization(question({ usages: [333, 334] }), 50)).toEqual({
      replicas: 2,
      utilization: 33,
      milli: 333,
    });
  });

  it("are unknown if no pod counts", () => {
    expect(replicasForUtilization(question({ usages: [] }), 50)).toEqual({
      problem: "no pods returned by selector while calculating replica count",
    });
    expect(replicasForUtilization(question({ usages: [300], unready: [0] }), 50)).toEqual({
      problem: "did not receive metrics for targeted pods (pods might be unready)",
    });
  });

  it("count the CPU of an older pod that was once ready, and memory of any pod", () => {
    const old = { usages: [300, 900], unready: [1], ageMs: 1_200_000 };
    const once = question(old);
    const turned = once.pods.map((pod) => ({
      ...pod,
      status: {
        ...pod.status,
        conditions: pod.status?.conditions?.map((one) => ({
          ...one,
          lastTransitionTime: toRfc3339(NOW - 60_000),
        })),
      },
    })) as readonly Pod[];
    expect(replicasForUtilization({ ...once, pods: turned }, 30)).toMatchObject({ replicas: 4 });
    expect(replicasForUtilization(once, 30)).toMatchObject({ replicas: 2 });
    const memory = question({ ...old, usages: [300_000, 900_000], resource: "memory" });
    expect(replicasForUtilization(memory, 30)).toMatchObject({ replicas: 4, utilization: 60 });
  });
});

describe("the wanted replicas, for a target that is an average amount", () => {
  it.each<[string, number, Given, number]>([
    ["grow above the target", 500, { usages: [600, 1_200] }, 4],
    ["shrink below the target", 500, { usages: [100, 200, 300] }, 2],
    [
      "shrink as if pods without a sample used exactly the target",
      500,
      { usages: [100, undefined] },
      2,
    ],
  ])("%s", (_name, target, given, replicas) => {
    expect(replicasForAverage(question(given), target)).toMatchObject({ replicas });
  });
});

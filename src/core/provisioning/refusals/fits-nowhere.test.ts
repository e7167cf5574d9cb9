import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { atOnce } from "../../../base/steps.ts";
import {
  instanceType,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
} from "../../../testing/builders.ts";
import { prepare } from "../solve.ts";

const POOL = poolInput({}, [instanceType({ cpu: 4 })]);
const BIG = nodeView({
  node: {
    name: "big",
    labels: { only: "here" },
    allocatable: { cpu: "8", memory: "64Gi", pods: "9" },
  },
});

/** The names of the pods that are removed from the batch before planning. */
function leftOut(pods: Pod[], nodes = [BIG]): string[] {
  const batch = atOnce(prepare(schedulingInput({ pods, pools: [POOL], nodes })));
  return batch.leftOut.map(({ pod: one }) => one.metadata.name);
}

describe("pods that fit nowhere", () => {
  it("are too large for every type and every node", () => {
    const pods = [pod({ name: "huge", cpu: "100" }), pod({ name: "large", cpu: "6" })];
    expect(leftOut(pods)).toEqual(["huge"]);
    expect(leftOut(pods, [])).toEqual(["huge", "large"]);
  });

  it("select labels that no pool and no node has", () => {
    const asking = (value: string) =>
      pod({ name: value, cpu: "1", spec: { nodeSelector: { only: value } } });
    expect(leftOut([asking("here"), asking("nowhere")])).toEqual(["nowhere"]);
  });

  it("do not include pods with a preference that could be dropped", () => {
    const preference = {
      matchExpressions: [{ key: "only", operator: "In" as const, values: ["nowhere"] }],
    };
    const wishing = pod({
      name: "wishing",
      spec: {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }],
          },
        },
      },
    });
    expect(leftOut([wishing], [])).toEqual([]);
  });
});

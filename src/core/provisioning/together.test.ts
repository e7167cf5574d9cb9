import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { pod, schedulingInput } from "../../testing/builders.ts";
import { prepare } from "./solve.ts";
import { affinityGroupsOf } from "./together.ts";

const HOST = "kubernetes.io/hostname";

/** A pod that must run on the same host as the other pods of its app. */
function companion(name: string, app: string) {
  const labelSelector = { matchLabels: { app } };
  const terms = [{ topologyKey: HOST, labelSelector }];
  const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: terms };
  return pod({ name, labels: { app }, spec: { affinity: { podAffinity } } });
}

describe("affinity groups that are placed before other pods", () => {
  it("are only the groups of pods that are still pending", () => {
    const [a, b] = [companion("a", "web"), companion("b", "db")];
    const { queued } = atOnce(prepare(schedulingInput({ pods: [a, b, pod({ name: "c" })] })));
    const selected = (left: readonly ReturnType<typeof pod>[]) =>
      [...atOnce(affinityGroupsOf(queued, new Set(left)))].map(
        ({ selector }) => selector?.matchLabels,
      );
    expect(selected([a])).toEqual([{ app: "web" }]);
    expect(selected([b])).toEqual([{ app: "db" }]);
    expect(selected([])).toEqual([]);
  });
});

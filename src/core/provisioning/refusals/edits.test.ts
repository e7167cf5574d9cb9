import { expect, it } from "vitest";
import type { TopologySpreadConstraint } from "../../../apis/core/pod.ts";
import { pod } from "../../../testing/builders.ts";
import { editedPod } from "./edits.ts";

it("drops the required spread over a key, and leaves the wish to be spread over it", () => {
  const over = (
    topologyKey: string,
    whenUnsatisfiable: TopologySpreadConstraint["whenUnsatisfiable"],
  ) => ({ topologyKey, whenUnsatisfiable, maxSkew: 1, labelSelector: {} });
  const required = over("zone", "DoNotSchedule");
  const others = [over("zone", "ScheduleAnyway"), over("rack", "DoNotSchedule")];
  const one = pod({ name: "a", spec: { topologySpreadConstraints: [required, ...others] } });
  const edit = { on: "pod", change: "dropRule", rule: "spread", topologyKey: "zone" } as const;
  expect(editedPod(one, edit).spec.topologySpreadConstraints).toEqual(others);
});

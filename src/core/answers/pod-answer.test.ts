import { expect, test } from "vitest";
import { pod } from "../../testing/builders.ts";
import { tiesOf } from "./pod-answer.ts";

const ZONE = "topology.kubernetes.io/zone";

test("the answer about a pod names the required rules that limit where it may run, and no preferences", () => {
  expect(tiesOf(pod({}))).toEqual([]);
  const preferred = { weight: 1, podAffinityTerm: { topologyKey: ZONE } };
  const constraint = { topologyKey: ZONE, maxSkew: 1, labelSelector: {} };
  const spec = {
    nodeSelector: { disk: "ssd" },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] },
      },
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: ZONE }],
        preferredDuringSchedulingIgnoredDuringExecution: [preferred],
      },
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "rack" }],
      },
    },
    topologySpreadConstraints: [
      { ...constraint, whenUnsatisfiable: "DoNotSchedule" as const },
      { ...constraint, topologyKey: "rack", whenUnsatisfiable: "ScheduleAnyway" as const },
    ],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "data-0" } },
      { name: "scratch", emptyDir: {} },
    ],
  };
  expect(tiesOf(pod({ spec }))).toEqual([
    "nodeSelector disk=ssd",
    "required node affinity",
    `required pod affinity by ${ZONE}`,
    "required pod anti-affinity by rack",
    `spread over ${ZONE}`,
    "volume claim data-0",
  ]);
});

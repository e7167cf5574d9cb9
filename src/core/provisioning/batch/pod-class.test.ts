import { expect, it } from "vitest";
import { deepFreeze } from "../../../base/json.ts";
import { pod } from "../../../testing/builders.ts";
import { readPod } from "./pod-class.ts";
import { wishesOf } from "./preferences.ts";

const SETTINGS = { preferencePolicy: "Respect", wellKnownLabels: [] } as const;

function asking(operator: string) {
  const nodeSelectorTerms = [{ matchExpressions: [{ key: "disk", operator, values: ["ssd"] }] }];
  const requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms };
  const spec = {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution } },
  } as object;
  return deepFreeze(pod({ spec }));
}

it("does not read fields of a pod that planning must not use", () => {
  expect(() => wishesOf(asking("Likes").spec, "Respect", [])).toThrow();
  expect(() => readPod(asking("Likes"), SETTINGS)).not.toThrow();
  expect(() => readPod(asking("In"), SETTINGS)).not.toThrow();
});

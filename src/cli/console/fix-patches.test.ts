import { expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import type { Edit } from "../../core/answers/fixes/edits.ts";
import { pod } from "../../testing/builders.ts";
import { fixPatch } from "./fix-patches.ts";

it("deletes the pending pod of a StatefulSet that makes one pod after the other", () => {
  const toleration = { key: "gpu", operator: "Exists", effect: "NoSchedule" } as const;
  const edits: Edit[] = [{ on: "pod", change: "tolerate", toleration }];
  const pending = pod({ name: "db-1", owner: { kind: "StatefulSet", name: "db" } });
  const linesFor = (spec: object) => {
    const set = {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "db", namespace: "default" },
      spec: { ...spec, template: { spec: pending.spec } },
    };
    const patch = fixPatch(edits, pending, { pools: [], liveWorkloads: [set as KubeObject] });
    return "lines" in patch ? patch.lines : [patch.byHand];
  };
  const [patched, ...others] = linesFor({});
  expect(patched).toMatch(/^kubectl patch -n \S+ statefulsets\.apps \S+ --type=json /);
  expect(others).toEqual(["kubectl delete pod -n default db-1"]);
  expect(linesFor({ podManagementPolicy: "OrderedReady" })).toHaveLength(2);
  expect(linesFor({ podManagementPolicy: "Parallel" })).toHaveLength(1);
});

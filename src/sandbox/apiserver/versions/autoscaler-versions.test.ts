import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../apis/meta.ts";
import { newerAutoscalerOf, olderAutoscalerOf } from "./autoscaler-versions.ts";

const NOTED = "autoscaling.alpha.kubernetes.io/metrics";

function autoscaler(spec: object, annotations?: Record<string, string>, status = {}): KubeObject {
  const metadata = { name: "a", ...(annotations === undefined ? {} : { annotations }) };
  return { metadata, spec: { maxReplicas: 3, ...spec }, status } as unknown as KubeObject;
}

describe("a HorizontalPodAutoscaler converted to its other version", () => {
  it("is unchanged when it is converted back", () => {
    const target = { type: "AverageValue", averageValue: "1Gi" };
    const metrics = [{ type: "Resource", resource: { name: "memory", target } }];
    const older = olderAutoscalerOf(autoscaler({ metrics }));
    expect(Object.keys(older.metadata.annotations ?? {})).toEqual([NOTED]);
    expect(newerAutoscalerOf(older)).toMatchObject({ metadata: { name: "a" }, spec: { metrics } });
    expect(newerAutoscalerOf(older).metadata.annotations).toBeUndefined();
  });

  it.each(["[null]", '[{"type":"Resource","resource":null}]', "nonsense", "7"])(
    "is valid whatever a user wrote into its annotations: %s",
    (text) => {
      const newer = newerAutoscalerOf(
        autoscaler({ targetCPUUtilizationPercentage: 50 }, { [NOTED]: text }),
      );
      expect((newer as { spec?: { metrics?: object[] } }).spec?.metrics?.at(-1)).toMatchObject({
        resource: { name: "cpu", target: { averageUtilization: 50 } },
      });
    },
  );

  it("is valid even if a metric in its status is empty", () => {
    const status = { currentMetrics: [{ type: "Resource", resource: { name: "cpu" } }] };
    expect(olderAutoscalerOf(autoscaler({}, undefined, status)).apiVersion).toBe("autoscaling/v1");
  });
});

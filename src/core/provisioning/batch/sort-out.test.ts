import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { pod } from "../../../testing/builders.ts";
import { EqualPods } from "./sort-out.ts";

describe("pods that differ only in their names", () => {
  const made = (changes: Partial<Pod["metadata"]> & { spec?: Pod["spec"] }): Pod => {
    const { spec, ...metadata } = changes;
    return { ...sample, spec: spec ?? sample.spec, metadata: { ...sample.metadata, ...metadata } };
  };
  const sample = pod({ name: "web-0", labels: { app: "web" } });

  it("are read only once for all of them", () => {
    const asked: string[] = [];
    const equalPods = new EqualPods((one) => asked.push(one.metadata.name));
    const labels = { app: "db" };
    for (const name of ["web-0", "web-1", "web-2"]) equalPods.of(made({ name }));
    for (const name of ["db-0", "db-1"]) equalPods.of(made({ name, labels }));
    equalPods.of(made({ name: "web-3" }));
    expect(asked).toEqual(["web-0", "db-0"]);
  });

  it("are read again in another namespace, with a volume, or during a resize", () => {
    const asked: string[] = [];
    const equalPods = new EqualPods((one) => asked.push(one.metadata.name));
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
    const stored = { ...sample.spec, volumes };
    const containerStatuses = [{ name: "main", ready: true, allocatedResources: { cpu: "2" } }];
    const pods = [
      sample,
      made({ name: "elsewhere", namespace: "other" }),
      made({ name: "stored-0", spec: stored }),
      made({ name: "stored-1", spec: stored }),
      { ...made({ name: "resized" }), status: { containerStatuses } },
      made({ name: "web-1" }),
    ];
    for (const one of pods) equalPods.of(one);
    expect(asked).toEqual(["web-0", "elsewhere", "stored-0", "stored-1", "resized"]);
  });
});

import { describe, expect, it } from "vitest";
import type { LimitRange } from "../../apis/core/limit-range.ts";
import type { PodSpec } from "../../apis/core/pod.ts";
import { PodAdmission } from "./pod-admission.ts";

const spec = (resources: object, more: Partial<PodSpec> = {}): PodSpec => ({
  containers: [{ name: "main", resources }],
  ...more,
});

/** A LimitRange that gives this request to containers that have none. */
const range = (name: string, cpu: string, namespace = "default"): LimitRange => ({
  metadata: { name, namespace },
  spec: { limits: [{ type: "Container", defaultRequest: { cpu } }] },
});

const cpuOf = (admission: PodAdmission, one: PodSpec, namespace = "default") =>
  admission.completed(namespace, one).containers[0]?.resources?.requests?.["cpu"];

describe("a pod completed as by admission", () => {
  it("requests its limits if it has no requests", () => {
    const admission = new PodAdmission();
    const limits = { cpu: "2", memory: "1Gi" };
    const both = admission.completed("default", spec({ limits, requests: { cpu: "1" } }));
    expect(both.containers[0]?.resources?.requests).toEqual({ cpu: "1", memory: "1Gi" });
    const first = [{ name: "init", resources: { limits: { cpu: "3" } } }];
    const started = admission.completed("default", spec({}, { initContainers: first }));
    expect(started.initContainers?.[0]?.resources?.requests).toEqual({ cpu: "3" });
    const plain = spec({ requests: { cpu: "1" } });
    expect(admission.completed("default", plain)).toBe(plain);
  });

  it("gets the defaults of its namespace's LimitRange, until that is deleted", () => {
    const admission = new PodAdmission();
    admission.updateLimitRange(range("a", "250m"));
    expect(cpuOf(admission, spec({}))).toBe("250m");
    expect(cpuOf(admission, spec({}), "other")).toBeUndefined();
    expect(cpuOf(admission, spec({ requests: { cpu: "1" } }))).toBe("1");
    admission.updateLimitRange(range("a", "500m"));
    expect(cpuOf(admission, spec({}))).toBe("500m");
    admission.updateLimitRange(range("b", "700m"));
    admission.deleteLimitRange(range("a", ""));
    expect(cpuOf(admission, spec({}))).toBe("700m");
  });

  it("gets the overhead of a known RuntimeClass", () => {
    const admission = new PodAdmission();
    const overhead = { podFixed: { cpu: "100m" } };
    const wanted = spec({}, { runtimeClassName: "kata" });
    expect(admission.completed("default", wanted).overhead).toBeUndefined();
    admission.updateRuntimeClass({ metadata: { name: "kata" }, handler: "kata", overhead });
    expect(admission.completed("default", wanted).overhead).toEqual({ cpu: "100m" });
    admission.deleteRuntimeClass("kata");
    expect(admission.completed("default", wanted).overhead).toBeUndefined();
  });
});

describe("the revision of PodAdmission", () => {
  it("rises with each change, but not for a call that changes nothing", () => {
    const admission = new PodAdmission();
    const revisions = [
      () => admission.updateLimitRange(range("a", "1")),
      () => admission.updateRuntimeClass({ metadata: { name: "kata" }, handler: "kata" }),
      () => admission.deleteRuntimeClass("other"),
      () => admission.deleteRuntimeClass("kata"),
      () => admission.deleteLimitRange(range("a", "1")),
      () => admission.deleteAutoscaler({ metadata: { name: "none", namespace: "default" } }),
    ].map((change) => {
      change();
      return admission.revision;
    });
    expect(revisions).toEqual([1, 2, 2, 3, 4, 4]);
  });
});

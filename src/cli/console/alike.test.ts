import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import { isAlike } from "./alike.ts";

const LABELS = Object.freeze({ app: "web" });
const SPEC = Object.freeze({ containers: [] });

function pod(version: number, more: object = {}): KubeObject {
  const metadata = { name: "x", uid: "x", labels: LABELS, resourceVersion: String(version) };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: SPEC, ...more } as KubeObject;
}

describe("two forms of a pod", () => {
  it("are alike if only the version differs", () => {
    expect(isAlike(pod(1), pod(2))).toBe(true);
    expect(
      isAlike(pod(1, { status: { phase: "Running" } }), pod(2, { status: { phase: "Running" } })),
    ).toBe(true);
  });

  it("are not alike if a field was added, changed or removed", () => {
    expect(isAlike(pod(1), pod(2, { spec: { ...SPEC, nodeName: "n1" } }))).toBe(false);
    expect(isAlike(pod(1), pod(2, { status: {} }))).toBe(false);
    expect(
      isAlike(pod(1, { status: { phase: "Pending" } }), pod(2, { status: { phase: "Running" } })),
    ).toBe(false);
    expect(isAlike(pod(1, { status: {} }), pod(2))).toBe(false);
  });
});

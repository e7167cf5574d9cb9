/** Tests of daemons that run only on some nodes of an instance type, such as the nodes in one zone. */
import { describe, expect, it } from "vitest";
import { instanceType } from "../../../testing/builders.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { rowsByDaemons } from "./daemon-rows.ts";

const ZONE = "topology.kubernetes.io/zone";
const GPU = "example.com/gpu";

/**
 * The number of rows into which a type is split. The type has these values of the GPU label; a daemon requires zone-a
 * and has this requirement on the label.
 */
function rowsFor(
  values: readonly string[],
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist",
): number {
  const type = instanceType({ labels: { [GPU]: values } });
  const named = operator === "In" || operator === "NotIn" ? { values: ["t4"] } : {};
  const daemon = Requirements.fromSpecs([
    { key: ZONE, operator: "In", values: ["zone-a"] },
    { key: GPU, operator, ...named },
  ]);
  return rowsByDaemons([type], Requirements.NONE, [daemon]).length;
}

describe("a type is split by the zone of a DaemonSet", () => {
  it("if the DaemonSet accepts the type's own labels", () => {
    expect(rowsFor(["t4"], "In")).toBe(2);
    expect(rowsFor(["t4", "a10"], "In")).toBe(2);
    expect(rowsFor(["t4"], "Exists")).toBe(2);
    expect(rowsFor(["a10"], "NotIn")).toBe(2);
    expect(rowsFor(["a10"], "In")).toBe(1);
    expect(rowsFor(["t4"], "NotIn")).toBe(1);
    expect(rowsFor(["t4"], "DoesNotExist")).toBe(1);
  });

  it("if the DaemonSet accepts a missing label", () => {
    expect(rowsFor([], "DoesNotExist")).toBe(2);
    expect(rowsFor([], "NotIn")).toBe(2);
    expect(rowsFor([], "In")).toBe(1);
    expect(rowsFor([], "Exists")).toBe(1);
  });

  it("if the pool can use offerings in both zones", () => {
    const zones = ["zone-a", "zone-b"];
    const daemon = Requirements.fromLabels({ [ZONE]: "zone-a" });
    const rows = (pool: Requirements, sold = zones) => {
      const type = instanceType({ zones });
      const offerings = type.offerings.map((one) => ({
        ...one,
        available: sold.includes(one.zone),
      }));
      return rowsByDaemons([{ ...type, offerings }], pool, [daemon]);
    };
    const zonesOf = (...args: Parameters<typeof rows>) =>
      rows(...args).map(({ offerings }) => [...new Set(offerings.map(({ zone }) => zone))]);
    expect(zonesOf(Requirements.NONE)).toEqual([["zone-a"], ["zone-b"]]);
    expect(zonesOf(Requirements.fromLabels({ [ZONE]: "zone-a" }))).toEqual([zones]);
    expect(zonesOf(Requirements.NONE, ["zone-a"])).toEqual([zones]);
  });
});

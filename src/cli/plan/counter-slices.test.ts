/** Counter sets of partitionable devices in files: in the slice of the devices, or in a slice of their own. */
import { describe, expect, it } from "vitest";
import { ClusterDevices, Contents } from "../../core/devices/inventory.ts";
import { objectsOf } from "./documents.ts";
import { sortManifests } from "./manifests.ts";

const SETS = "sharedCounters: [{name: gpu-0, counters: {slices: {value: '4'}}}]";
const uses = (set: string) =>
  `devices: [{name: half, consumesCounters: [{counterSet: ${set}, counters: {slices: {value: '2'}}}]}]`;

function poolOf(...slices: readonly string[]) {
  const yaml = slices.map(
    (lines, at) => `
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice-${at}}
spec:
  driver: gpu.example.com
  pool: {name: n1, generation: 1, resourceSliceCount: ${slices.length}}
  nodeName: n1
  ${lines}
`,
  );
  const { devices } = sortManifests(objectsOf("slices.yaml", yaml.join("---")));
  const [pool] = new ClusterDevices(devices.slices, new Contents()).pools;
  return { complete: pool?.isComplete, devices: pool?.devices.length, problem: pool?.problem };
}

describe("the counter sets of a pool of devices", () => {
  it("may be in a slice of their own, as Kubernetes 1.35 and later require", () => {
    const read = { complete: true, devices: 1, problem: undefined };
    expect(poolOf(SETS, uses("gpu-0"))).toEqual(read);
    expect(poolOf(`${SETS}\n  ${uses("gpu-0")}`)).toEqual(read);
  });

  it("may have more counters than Kubernetes 1.34 allows", () => {
    const counters = Array.from({ length: 12 }, (_, at) => `c${at}: {value: '4'}`).join(", ");
    const sets = [0, 1, 2].map(
      (at) => `{name: gpu-${at}, counters: {slices: {value: '4'}, ${counters}}}`,
    );
    expect(poolOf(`sharedCounters: [${sets.join(", ")}]`, uses("gpu-2")).problem).toBeUndefined();
  });

  it("make the pool unusable if a device consumes a set that no slice has", () => {
    expect(poolOf(SETS, uses("gpu-1")).problem).toBe(
      "has no counter set gpu-1, which device half consumes",
    );
  });
});

import { describe, expect, it } from "vitest";
import { RESOURCE_SLICE } from "../../apis/resource/kinds.ts";
import { startParts } from "../testing/parts-cluster.ts";
import { devicesOfType } from "./devices.ts";

describe("devices of a simulated machine", () => {
  it("are those of its instance type, with the API's types and amounts", () => {
    const [gpus] = devicesOfType("g5.12xlarge");
    expect(gpus?.driver).toBe("gpu.nvidia.com");
    expect(gpus?.devices).toHaveLength(4);
    expect(gpus?.devices[0]).toMatchObject({
      name: "gpu-0",
      attributes: {
        productName: { string: "NVIDIA A10G" },
        cudaComputeCapability: { version: "8.6.0" },
        driverVersion: { version: expect.any(String) },
      },
      capacity: { memory: { value: "23028Mi" } },
    });
    expect(
      devicesOfType("p5.48xlarge")
        .map(({ driver }) => driver)
        .sort(),
    ).toEqual(["dra.net", "gpu.nvidia.com"]);
    expect(devicesOfType("m5.large")).toEqual([]);
  });

  it("are in a ResourceSlice that is deleted with the node", async () => {
    const cluster = await startParts();
    cluster.node("node-a", { devices: devicesOfType("g5.12xlarge") });
    await cluster.clock.advance(1_000);
    const { items } = await cluster.kube.list(RESOURCE_SLICE, {});
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual([
      "node-a-dra.net",
      "node-a-gpu.nvidia.com",
    ]);
    const gpus = items.find(({ spec }) => spec.driver === "gpu.nvidia.com");
    expect(gpus?.metadata.ownerReferences).toMatchObject([{ kind: "Node", name: "node-a" }]);
    expect(gpus?.spec).toMatchObject({
      driver: "gpu.nvidia.com",
      nodeName: "node-a",
      pool: { name: "node-a", generation: 1, resourceSliceCount: 1 },
    });
    cluster.kubelets.leave("node-a");
    await cluster.clock.advance(600_000);
    expect((await cluster.kube.list(RESOURCE_SLICE, {})).items).toEqual([]);
    await cluster.stop();
  });
});

import { describe, expect, it } from "vitest";
import { EVENT } from "../../apis/core/kinds.ts";
import type { Node } from "../../apis/core/node.ts";
import { RESOURCE_SLICE, type ResourceSlice } from "../../apis/resource/kinds.ts";
import { startParts } from "../testing/parts-cluster.ts";
import { DRA_CONFIG, type DraConfig } from "./dra-config.ts";
import { slicesWanted } from "./dra-slices.ts";

const TYPE = "node.kubernetes.io/instance-type";

function node(name: string, type: string): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid: `uid-${name}`, labels: { [TYPE]: type } },
  } as Node;
}

function pool(name: string, type: string, ...slices: readonly (readonly string[])[]) {
  return {
    name,
    nodeSelectorTerms: [{ matchExpressions: [{ key: TYPE, operator: "In", values: [type] }] }],
    resourceSlices: slices.map((devices) => ({ devices: devices.map((one) => ({ name: one })) })),
  };
}

function config(name: string, driver: string, ...pools: ReturnType<typeof pool>[]): DraConfig {
  return {
    apiVersion: "test.karpenter.sh/v1alpha1",
    kind: "DRAConfig",
    metadata: { name },
    spec: { driver, pools },
  } as DraConfig;
}

function shown(slices: readonly ResourceSlice[]) {
  return slices.map(({ metadata, spec: { pool: own, devices = [] } }) => {
    const { name, generation, resourceSliceCount } = own;
    const names = devices.map((one) => one.name).join();
    return `${metadata.name}: ${name} ${generation} 1/${resourceSliceCount} ${names}`;
  });
}

function published(configs: readonly DraConfig[], nodes: readonly Node[], own: ResourceSlice[]) {
  return slicesWanted(configs, nodes, own).map(({ slice }) => slice);
}

describe("ResourceSlices of DRAConfigs", () => {
  const nodes = [node("b", "c-4x"), node("a", "c-4x"), node("c", "m-8x")];

  it("form one pool for each driver and node, from all pools and configs", () => {
    const configs = [
      config("two", "fpga.example.com", pool("fpga", "c-4x", ["f-0"])),
      config("one", "gpu.example.com", pool("t4", "c-4x", ["g-0"], ["g-1", "g-2"])),
      config("more", "gpu.example.com", pool("a10", "c-4x", ["g-3"]), pool("v100", "m-8x", ["v"])),
    ];
    expect(shown(published(configs, nodes, []))).toEqual([
      "fpga-example-com-a-fpga: fpga.example.com/a 0 1/1 f-0",
      "fpga-example-com-b-fpga: fpga.example.com/b 0 1/1 f-0",
      "gpu-example-com-a-a10: gpu.example.com/a 0 1/3 g-3",
      "gpu-example-com-a-t4-0: gpu.example.com/a 0 1/3 g-0",
      "gpu-example-com-a-t4-1: gpu.example.com/a 0 1/3 g-1,g-2",
      "gpu-example-com-b-a10: gpu.example.com/b 0 1/3 g-3",
      "gpu-example-com-b-t4-0: gpu.example.com/b 0 1/3 g-0",
      "gpu-example-com-b-t4-1: gpu.example.com/b 0 1/3 g-1,g-2",
      "gpu-example-com-c-v100: gpu.example.com/c 0 1/1 v",
    ]);
  });

  it("all get one new generation when one of them changes", () => {
    const one = config("one", "gpu.example.com", pool("t4", "c-4x", ["g-0"], ["g-1"]));
    const first = published([one], nodes.slice(0, 1), []);
    expect(published([one], nodes.slice(0, 1), first)).toEqual(first);
    const changed = config("one", "gpu.example.com", pool("t4", "c-4x", ["g-0"], ["g-1", "g-2"]));
    expect(shown(published([changed], nodes.slice(0, 1), first))).toEqual([
      "gpu-example-com-b-t4-0: gpu.example.com/b 1 1/2 g-0",
      "gpu-example-com-b-t4-1: gpu.example.com/b 1 1/2 g-1,g-2",
    ]);
  });

  it("follow the first config if two name the same pool of one driver", () => {
    const configs = [
      config("b", "gpu.example.com", pool("t4", "c-4x", ["from-b"])),
      config("a", "gpu.example.com", pool("t4", "c-4x", ["from-a"])),
    ];
    expect(shown(published(configs, nodes.slice(0, 1), []))).toEqual([
      "gpu-example-com-b-t4: gpu.example.com/b 0 1/1 from-a",
    ]);
  });
});

describe("drivers of DRAConfigs", () => {
  const gpus = (...devices: object[]) => ({
    ...config("gpus", "gpu.example.com"),
    spec: {
      driver: "gpu.example.com",
      pools: [{ ...pool("t4", "c-4x"), resourceSlices: [{ devices }] }],
    },
  });
  const gpu = (name: string) => ({
    name,
    capacity: { memory: { value: "16384Mi" } },
    taints: [{ key: "example.com/new", effect: "NoSchedule" }],
  });

  it("publish slices on matching nodes, update them after changes, and delete them", async () => {
    const cluster = await startParts({ draConfigs: true });
    cluster.node("node-a", { labels: { [TYPE]: "c-4x" } });
    cluster.node("node-b", { labels: { [TYPE]: "m-8x" } });
    const slices = async () => {
      await cluster.clock.advance(5_000);
      return (await cluster.kube.list(RESOURCE_SLICE, {})).items;
    };
    await cluster.create(DRA_CONFIG, gpus(gpu("g-0")));
    const [first, ...others] = await slices();
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      metadata: {
        name: "gpu-example-com-node-a-t4",
        labels: { "test.karpenter.sh/pool": "t4", "test.karpenter.sh/node": "node-a" },
        ownerReferences: [{ kind: "Node", name: "node-a" }],
      },
      spec: { nodeName: "node-a", pool: { generation: 0, resourceSliceCount: 1 } },
    });
    // The API server rewrites the quantity as 16Gi and adds a time to the taint. The driver must
    // not count this as a change.
    await cluster.clock.advance(120_000);
    expect(await slices()).toEqual([first]);

    const body = { spec: gpus(gpu("g-0"), gpu("g-1")).spec };
    await cluster.kube.patch(DRA_CONFIG, { name: "gpus" }, { type: "merge", body });
    expect(shown(await slices())).toEqual([
      "gpu-example-com-node-a-t4: gpu.example.com/node-a 1 1/1 g-0,g-1",
    ]);

    await cluster.kube.delete(RESOURCE_SLICE, { name: "gpu-example-com-node-a-t4" });
    expect(await slices()).toHaveLength(1);

    await cluster.kube.delete(DRA_CONFIG, { name: "gpus" });
    expect(await slices()).toEqual([]);
    await cluster.stop();
  });

  it("report on the config what the API server refuses", async () => {
    const cluster = await startParts({ draConfigs: true });
    cluster.node("node-a", { labels: { [TYPE]: "c-4x" } });
    await cluster.create(DRA_CONFIG, gpus({ name: "Not_A_Label" }));
    await cluster.clock.advance(5_000);
    const { items } = await cluster.kube.list(EVENT, {});
    expect(items.filter(({ reason }) => reason === "FailedPublish")).toMatchObject([
      {
        involvedObject: { kind: "DRAConfig", name: "gpus" },
        message: expect.stringContaining("spec.devices[0].name"),
      },
    ]);
    await cluster.stop();
  });

  it("are refused with an invalid driver name", async () => {
    const cluster = await startParts({ draConfigs: true });
    const refused = (driver: string) =>
      cluster.create(DRA_CONFIG, config("bad", driver, pool("t4", "c-4x", ["g"])));
    await expect(refused("Not A Driver")).rejects.toThrow(/spec\.driver/);
    await expect(refused("")).rejects.toThrow(/spec\.driver/);
    await cluster.stop();
  });
});

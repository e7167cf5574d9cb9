import { describe, expect, it } from "vitest";
import type { Device, ResourceClaim } from "../../apis/resource/kinds.ts";
import {
  instanceType,
  nodeClaim,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
} from "../../testing/builders.ts";
import {
  cel,
  claimsOf,
  claimTemplate,
  DRIVER,
  deviceClaim,
  deviceFacts,
  GPU_CLASS,
  gpus,
  resourceClaim,
  slice,
  templates,
} from "../../testing/devices.ts";
import type { DynamicResources } from "../cloudprovider/dynamic-resources.ts";
import type { DeviceFacts } from "../devices/device-facts.ts";
import { RequirementSpace } from "../scheduling/requirement-space.ts";
import type { NodeView } from "../state/node-view.ts";
import { DeviceAccess } from "./nodes/device-access.ts";
import { solve } from "./solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const type = (name: string, priceMicroUsd: number, dynamicResources?: DynamicResources) => ({
  ...instanceType({ name, cpu: 16, capacityTypes: ["on-demand"], priceMicroUsd }),
  ...(dynamicResources === undefined ? {} : { dynamicResources }),
});
const PLAIN = type("plain", 10_000);
const SMALL = type("gpu-small", 100_000, templates(gpus(1), { pool: "small" }));
const LARGE = type("gpu-large", 400_000, templates(gpus(4), { pool: "large" }));
const TYPES = [PLAIN, SMALL, LARGE];

interface Asking {
  readonly facts?: Partial<DeviceFacts>;
  readonly types?: readonly (typeof PLAIN)[];
  readonly nodes?: readonly NodeView[];
}

function planned(
  pods: readonly ReturnType<typeof pod>[],
  { facts = {}, types = TYPES, nodes = [] }: Asking = {},
) {
  const { newClaims, existing, unschedulable } = solve({
    ...schedulingInput({ pods: [...pods], pools: [poolInput({}, types)], nodes: [...nodes] }),
    devices: deviceFacts(facts),
  });
  return {
    nodes: newClaims.map(({ cheapest, pods: own }) =>
      [cheapest.instanceType, ...own.map(({ metadata }) => metadata.name)].join(" "),
    ),
    claims: newClaims,
    existing: existing.map(({ nodeName, pods: own }) =>
      [nodeName, ...own.map(({ metadata }) => metadata.name)].join(" "),
    ),
    why: unschedulable.map(({ message }) => message),
    rejected: unschedulable.flatMap(({ pools }) => pools.map(({ rejected }) => rejected)),
  };
}

const asks = (count: number) => claimTemplate(`gpus-${count}`, deviceClaim({ count }));
const TEMPLATES = { templates: [asks(1), asks(2), asks(4), asks(8)] };
const withGpus = (name: string, count: number, more = {}) =>
  pod({ name, spec: { ...claimsOf(`template:gpus-${count}`), ...more } });

describe("a pod with ResourceClaims", () => {
  it("is refused if Dynamic Resource Allocation is ignored", () => {
    const input = schedulingInput({ pods: [withGpus("a", 1)], pools: [poolInput({}, TYPES)] });
    expect(solve(input).unschedulable[0]?.message).toContain("not yet supported by Karpenter");
  });

  it("gets a node with the devices that its ResourceClaimTemplate requests", () => {
    const one = planned([withGpus("a", 1)], { facts: TEMPLATES });
    expect(one.nodes).toEqual(["gpu-small a"]);
    expect(one.claims[0]?.instanceTypes.map(({ name }) => name)).toEqual([
      "gpu-small",
      "gpu-large",
    ]);
    expect(one.claims[0]?.deviceDrivers).toEqual([DRIVER]);
    const two = planned([withGpus("a", 2)], { facts: TEMPLATES });
    expect(two.nodes).toEqual(["gpu-large a"]);
    expect(
      planned([pod({ name: "b" })], { facts: TEMPLATES }).claims[0]?.deviceDrivers,
    ).toBeUndefined();
  });

  it("shares a node with other pods until its devices are used up", () => {
    const pods = ["a", "b", "c"].map((name) => withGpus(name, 2));
    expect(planned(pods, { facts: TEMPLATES }).nodes).toEqual(["gpu-large a b", "gpu-large c"]);
    // Each pod alone would fit on a small node. On one large node, both have their devices.
    expect(planned([withGpus("a", 1), withGpus("b", 1)], { facts: TEMPLATES }).nodes).toEqual([
      "gpu-large a b",
    ]);
  });

  it("is refused with the request that failed and the nearest devices", () => {
    const { why, rejected } = planned([withGpus("a", 8)], { facts: TEMPLATES });
    expect(why[0]).toContain(
      "no instance type can satisfy the allocation: on gpu-large: claim c0, request gpu wants 8 devices of class gpu: there is room for 4 among 4",
    );
    expect(rejected).toEqual([{ devices: 3 }]);
    const selectors = [cel(`device.attributes["${DRIVER}"].model == "H100"`)];
    const attributes = { model: { string: "A100" } };
    const facts = { templates: [claimTemplate("gpus-1", deviceClaim({ selectors }))] };
    const old = type("old", 1, templates(gpus(1, () => ({ attributes }))));
    expect(planned([withGpus("a", 1)], { facts, types: [old] }).why[0]).toContain(
      `(1 refused by a selector); the nearest is ${DRIVER}/gpus/gpu-0: device.attributes["${DRIVER}"].model == "H100"`,
    );
  });

  it("stays pending if its ResourceClaim, template or DeviceClass is missing", () => {
    expect(planned([withGpus("a", 1)]).why[0]).toContain(
      'resourceclaimtemplate "default/gpus-1" not found',
    );
    const named = pod({ name: "a", spec: claimsOf("gone") });
    expect(planned([named]).why[0]).toContain('resourceclaim "default/gone" not found');
    const facts = { templates: [claimTemplate("gpus-1", deviceClaim({ deviceClassName: "tpu" }))] };
    expect(planned([withGpus("a", 1)], { facts }).why[0]).toContain(
      "DeviceClass tpu does not exist",
    );
  });

  it("is refused because of its own claim, even if an equal pod was placed", () => {
    const made = ["a", "b"].map((name) => {
      const owner = {
        apiVersion: "v1",
        kind: "Pod",
        name,
        uid: `uid-default-${name}`,
        controller: true,
      };
      const claim = resourceClaim(`${name}-made`);
      return { ...claim, metadata: { ...claim.metadata, ownerReferences: [owner] } };
    });
    const pods = ["a", "b"].map((name) => {
      const status = {
        phase: "Pending" as const,
        resourceClaimStatuses: [{ name: "c0", resourceClaimName: `${name}-made` }],
      };
      return pod({ name, spec: claimsOf("template:gpus-1"), status });
    });
    const facts = { ...TEMPLATES, claims: made, slices: [slice("net", gpus(1))] };
    const plan = planned(pods, { facts, types: [PLAIN] });
    expect(plan.nodes).toEqual(["plain a"]);
    expect(plan.why[0]).toContain("there is room for 0 among 1 (1 in use)");
  });

  it("needs no device if its status says that no ResourceClaim is generated for it", () => {
    const status = { phase: "Pending" as const, resourceClaimStatuses: [{ name: "c0" }] };
    const none = pod({ name: "a", spec: claimsOf("template:gone"), status });
    expect(planned([none]).nodes).toEqual(["plain a"]);
  });

  it("shares a node with pods without claims", () => {
    expect(planned([pod({ name: "a" }), withGpus("b", 1)], { facts: TEMPLATES }).nodes.length).toBe(
      1,
    );
  });
});

describe("an extended resource of a DeviceClass", () => {
  const classes = [
    { ...GPU_CLASS, spec: { ...GPU_CLASS.spec, extendedResourceName: "test.com/gpu" } },
  ];
  const asking = (name: string, amount: string, resource = "test.com/gpu") =>
    pod({ name, requests: { [resource]: amount } });

  it("is allocated from devices, and is not requested from the instance type", () => {
    const plan = planned([asking("a", "2")], { facts: { classes } });
    expect(plan.nodes).toEqual(["gpu-large a"]);
    expect(plan.claims[0]?.requests["test.com/gpu"]).toBeUndefined();
    expect(plan.claims[0]?.deviceDrivers).toEqual([DRIVER]);
    const full = planned([asking("a", "2"), asking("b", "3")], { facts: { classes } });
    expect(full.nodes.toSorted()).toEqual(["gpu-large a", "gpu-large b"]);
  });

  it("may also be requested by the name of the DeviceClass", () => {
    const own = asking("a", "1", "deviceclass.resource.kubernetes.io/gpu");
    expect(planned([own]).nodes).toEqual(["gpu-small a"]);
  });

  it("is left to the device plugin if an instance type has the resource itself", () => {
    const plugin = { ...PLAIN, name: "plugin", capacity: { ...PLAIN.capacity, "test.com/gpu": 1 } };
    const plan = planned([asking("a", "1")], { facts: { classes }, types: [...TYPES, plugin] });
    expect(plan.nodes).toEqual(["plugin a"]);
    expect(planned([asking("a", "1")]).nodes).toEqual([]);
  });
});

describe("equal selectors on instance types with devices of equal names", () => {
  it("are evaluated for each instance type (upstream mixes them up)", () => {
    const model = (string: string) =>
      templates(gpus(1, () => ({ attributes: { model: { string } } })));
    const types = [type("a", 1, model("A100")), type("h", 2, model("H100"))];
    const selectors = [cel(`device.attributes["${DRIVER}"].model == "H100"`)];
    const facts = { templates: [claimTemplate("gpus-1", deviceClaim({ selectors }))] };
    expect(planned([withGpus("a", 1)], { facts, types }).nodes).toEqual(["h a"]);
  });
});

describe("a ResourceClaim of several pods", () => {
  const facts = { claims: [resourceClaim("shared")] };
  const uses = (name: string, more = {}) => pod({ name, spec: { ...claimsOf("shared"), ...more } });

  it("brings its pods to one node, also if the node is only planned", () => {
    expect(planned([uses("a"), uses("b")], { facts }).nodes).toEqual(["gpu-small a b"]);
    const large = (name: string) => pod({ name, cpu: "12", spec: claimsOf("shared") });
    expect(planned([large("a"), large("b")], { facts }).nodes).toEqual(["gpu-small a"]);
  });

  it("needs devices for each entry of a pod that names it twice, until it is allocated", () => {
    const twice = pod({ name: "a", spec: claimsOf("shared", "shared") });
    expect(planned([twice], { facts, types: [SMALL] }).nodes).toEqual([]);
    expect(planned([twice], { facts }).nodes).toEqual(["gpu-large a"]);
  });

  it("with network devices may be used from several nodes that reach them", () => {
    const slices = [slice("net", gpus(1), { nodeSelector: inZones("zone-b") })];
    const pods = ["a", "b"].map((name) => pod({ name, cpu: "12", spec: claimsOf("shared") }));
    const plan = planned(pods, { facts: { ...facts, slices }, types: [PLAIN] });
    expect(plan.nodes).toEqual(["plain a", "plain b"]);
    expect(plan.claims.map(zonesOf)).toEqual([["zone-b"], ["zone-b"]]);
    // These devices are not published by a node, so the claim does not wait for a node to publish them.
    expect(plan.claims[0]?.deviceDrivers).toBeUndefined();
  });
});

const inZones = (...values: readonly string[]) => ({
  nodeSelectorTerms: values.map((value) => ({
    matchExpressions: [{ key: ZONE, operator: "In", values: [value] }],
  })),
});
const zonesOf = ({
  requirements,
}: {
  requirements: readonly { key: string; values?: readonly string[] }[];
}) => requirements.find(({ key }) => key === ZONE)?.values;

describe("devices of a ResourceSlice with a nodeSelector", () => {
  it("restrict the new node to one term of the nodeSelector", () => {
    const slices = [slice("net", gpus(1), { nodeSelector: inZones("zone-b", "zone-c") })];
    const plan = planned([withGpus("a", 1)], { facts: { ...TEMPLATES, slices }, types: [PLAIN] });
    expect(plan.claims.map(zonesOf)).toEqual([["zone-b"]]);
    const inC = withGpus("a", 1, { nodeSelector: { [ZONE]: "zone-c" } });
    const other = planned([inC], { facts: { ...TEMPLATES, slices }, types: [PLAIN] });
    expect(other.claims.map(zonesOf)).toEqual([["zone-c"]]);
  });

  it("are allocated only once", () => {
    const slices = [slice("net", gpus(2))];
    const pods = ["a", "b", "c"].map((name) => withGpus(name, 1, {}));
    const plan = planned(pods, { facts: { ...TEMPLATES, slices }, types: [PLAIN] });
    expect(plan.nodes).toEqual(["plain a b"]);
    expect(plan.why).toHaveLength(1);
  });

  it("on the network in one zone, and on another type elsewhere, allow the cheaper choice", () => {
    const model = (string: string): Partial<Device> => ({ attributes: { model: { string } } });
    const slices = [
      slice(
        "net",
        gpus(1, () => model("nic")),
        { nodeSelector: inZones("zone-a") },
      ),
    ];
    const selectors = [cel(`device.attributes["${DRIVER}"].model == "nic"`)];
    const facts = { slices, templates: [claimTemplate("gpus-1", deviceClaim({ selectors }))] };
    const local = type("local", 5_000, templates(gpus(1, () => model("nic"))));
    const plan = planned([withGpus("a", 1)], { facts, types: [PLAIN, local] });
    // Both types can use the device in zone-a. The planner takes the first type in the order.
    expect(plan.nodes).toEqual(["local a"]);
    expect(plan.claims.map(zonesOf)).toEqual([["zone-a"]]);
  });
});

describe("allocated ResourceClaims", () => {
  const allocated = (
    name: string,
    reservedFor: readonly string[],
    nodeSelector?: object,
  ): ResourceClaim =>
    resourceClaim(name, deviceClaim(), {
      allocation: {
        devices: { results: [{ request: "gpu", driver: DRIVER, pool: "net", device: "gpu-0" }] },
        ...(nodeSelector === undefined ? {} : { nodeSelector: nodeSelector as never }),
      },
      reservedFor: reservedFor.map((pod) => ({
        resource: "pods",
        name: pod,
        uid: `uid-default-${pod}`,
      })),
    });
  const slices = [slice("net", gpus(1))];

  it("restrict the pod to nodes that can use the allocation", () => {
    const facts = { slices, claims: [allocated("mine", ["other"], inZones("zone-c"))] };
    const plan = planned([pod({ name: "a", spec: claimsOf("mine") })], { facts, types: [PLAIN] });
    expect(plan.claims.map(zonesOf)).toEqual([["zone-c"]]);
    const fields = {
      nodeSelectorTerms: [
        { matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] },
      ],
    };
    const pinned = { slices, claims: [allocated("mine", ["other"], fields)] };
    const refused = planned([pod({ name: "a", spec: claimsOf("mine") })], {
      facts: pinned,
      types: [PLAIN],
    });
    expect(refused.why[0]).toContain("cannot be used from nodes of this pool");
  });

  it("keep a pod pending if they are being deleted, fully reserved or made for another pod", () => {
    const named = pod({ name: "b", spec: claimsOf("mine") });
    const why = (claim: ResourceClaim, one = named) =>
      planned([one], { facts: { slices, claims: [claim] }, types: [PLAIN] }).why[0];
    const used = allocated("mine", ["a"]);
    const leaving = {
      ...used,
      metadata: { ...used.metadata, deletionTimestamp: "2026-01-05T08:00:00Z" },
    };
    expect(why(used)).toBeUndefined();
    expect(why(leaving)).toContain('resourceclaim "default/mine" is being deleted');
    const many = Array.from({ length: 256 }, (_, at) => `p${at}`);
    expect(why(allocated("mine", many))).toContain("is in use by 256 pods");
    expect(why(allocated("mine", many.with(7, "b")))).toBeUndefined();
    const status = {
      phase: "Pending" as const,
      resourceClaimStatuses: [{ name: "c0", resourceClaimName: "mine" }],
    };
    const made = pod({ name: "b", spec: claimsOf("template:x"), status });
    expect(why(used, made)).toContain("was created for another pod");
    // A running pod that is moved becomes a new pod. The new pod gets another claim, or waits for this one.
    const moving = pod({ name: "a", nodeName: "old", spec: claimsOf("mine") });
    expect(why(leaving, moving)).toBeUndefined();
  });

  it("keep their devices, unless all pods that use them are moved", () => {
    const leaving = pod({ name: "a", nodeName: "old", spec: claimsOf("mine") });
    const facts = (...reserved: readonly string[]) => ({
      slices,
      templates: TEMPLATES.templates,
      claims: [allocated("mine", reserved, inZones("zone-c"))],
    });
    const kept = planned([withGpus("b", 1)], { facts: facts("a"), types: [PLAIN] });
    expect(kept.why[0]).toContain("1 in use");
    const moving = { ...leaving, spec: { ...leaving.spec, nodeName: "old" } };
    expect(planned([moving], { facts: facts("a"), types: [PLAIN] }).claims.map(zonesOf)).toEqual([
      undefined,
    ]);
    expect(
      planned([moving], { facts: facts("a", "x"), types: [PLAIN] }).claims.map(zonesOf),
    ).toEqual([["zone-c"]]);
  });
});

describe("existing nodes", () => {
  const labels = {
    "node.kubernetes.io/instance-type": "gpu-large",
    "karpenter.sh/nodepool": "default",
  };
  const view = (state: "initialized" | "registered") => {
    const marks = {
      "karpenter.sh/registered": "true",
      ...(state === "initialized" ? { "karpenter.sh/initialized": "true" } : {}),
    };
    return nodeView({
      node: { name: "n1", labels: { ...labels, ...marks } },
      claim: nodeClaim({ name: "c1", labels, status: { providerID: "test://n1" } }),
    });
  };
  const local = (count: number) => slice("n1", gpus(count), { nodeName: "n1" });

  it("have the devices that their drivers published, once they are initialized", () => {
    const nodes = [view("initialized")];
    const pods = [withGpus("a", 1)];
    expect(planned(pods, { facts: { ...TEMPLATES, slices: [local(1)] }, nodes }).existing).toEqual([
      "n1 a",
    ]);
    expect(planned(pods, { facts: TEMPLATES, nodes }).existing).toEqual([]);
    const two = [withGpus("a", 1), withGpus("b", 1)];
    const plan = planned(two, {
      facts: { ...TEMPLATES, slices: [local(1)] },
      nodes,
      types: [SMALL],
    });
    expect([plan.existing, plan.nodes]).toEqual([["n1 a"], ["gpu-small b"]]);
  });

  it("are refused with the request that fails, and with the step at which devices fail", () => {
    const nodes = [view("initialized")];
    const devices = deviceFacts({ ...TEMPLATES, slices: [local(2)] });
    const facts = { devices, pods: [], pools: [], nodes };
    const access = new DeviceAccess(facts, new RequirementSpace(new Set()));
    const place = { view: nodes[0] as NodeView, hostname: "n1", canMeet: () => true };
    const asking = withGpus("a", 4);
    expect([access.lacksOn(place, asking), access.lacksOn(place, withGpus("b", 2))]).toEqual([
      true,
      false,
    ]);
    expect(access.lackTextOn(place, asking)).toMatch(
      /request \S+ wants 4 devices of class \S+: there is room for 2 among 2$/,
    );
    access.commitOn(place, withGpus("b", 2));
    expect(access.lackTextOn(place, asking)).toMatch(/there is room for 0 among 2 \(2 in use\)$/);
  });

  it("have the devices of their instance type until they are initialized or the driver publishes", () => {
    const nodes = [view("registered")];
    const pods = [withGpus("a", 4)];
    expect(planned(pods, { facts: TEMPLATES, nodes }).existing).toEqual(["n1 a"]);
    expect(planned(pods, { facts: { ...TEMPLATES, slices: [local(1)] }, nodes }).existing).toEqual(
      [],
    );
  });

  it("that are not initialized or do not exist offer no devices of ResourceSlices that they own", () => {
    const asked = (state: "initialized" | "registered", owner: string) => {
      const slices = [slice("net", gpus(1), { owner })];
      const facts = { ...TEMPLATES, slices };
      const bigger = withGpus("a", 1, {});
      const pods = [{ ...bigger, spec: { ...bigger.spec, nodeSelector: { [ZONE]: "zone-b" } } }];
      return planned(pods, { facts, nodes: [view(state)], types: [PLAIN] }).nodes;
    };
    expect(asked("initialized", "n1")).toEqual(["plain a"]);
    expect(asked("registered", "n1")).toEqual([]);
    expect(asked("initialized", "n2")).toEqual([]);
  });

  it("keep devices for pods that an earlier plan of the pass placed there", () => {
    const facts = { ...TEMPLATES, slices: [local(2)] };
    const bound = {
      ...withGpus("first", 1),
      spec: { ...withGpus("first", 1).spec, nodeName: "n1" },
    };
    const nodes = [{ ...view("initialized"), pods: [bound] }];
    expect(planned([withGpus("a", 1)], { facts, nodes }).existing).toEqual(["n1 a"]);
    expect(planned([withGpus("a", 2)], { facts, nodes }).existing).toEqual([]);
  });

  it("keep devices for a pod there, even if not all of its devices can be found", () => {
    // The status of the claim does not show the allocation yet, and one of the claim's two devices was withdrawn.
    const two = deviceClaim(
      {},
      {
        requests: ["net", "gpu"].map((model) => ({
          name: model,
          exactly: {
            deviceClassName: "gpu",
            selectors: [cel(`device.attributes["${DRIVER}"].model == "${model}"`)],
          },
        })),
      },
    );
    const one = { ...two, requests: two.requests?.slice(0, 1) ?? [] };
    const net = slice(
      "net",
      gpus(1, () => ({ attributes: { model: { string: "net" } } })),
    );
    const facts = { templates: [claimTemplate("two", two), claimTemplate("one", one)] };
    const bound = pod({ name: "first", spec: { ...claimsOf("template:two"), nodeName: "n1" } });
    const asked = (pods: (typeof bound)[]) =>
      planned([pod({ name: "a", spec: claimsOf("template:one") })], {
        facts: { ...facts, slices: [net] },
        nodes: [{ ...view("initialized"), pods }],
        types: [PLAIN],
      });
    expect(asked([]).existing).toEqual(["n1 a"]);
    const { existing, nodes } = asked([bound]);
    expect([existing, nodes]).toEqual([[], []]);
  });

  it("keep the pods of one ResourceClaim together within a pass (upstream does not)", () => {
    const facts = { claims: [resourceClaim("shared")], slices: [local(1)] };
    const pods = ["a", "b"].map((name) => pod({ name, cpu: "3", spec: claimsOf("shared") }));
    const plan = planned(pods, { facts, nodes: [view("initialized")] });
    expect(plan.existing).toEqual(["n1 a"]);
    expect(plan.nodes).toEqual([]);
    expect(plan.why[0]).toContain("on another planned node");
  });
});

import { describe, expect, it } from "vitest";
import type { ConfigMap } from "../../apis/core/kinds.ts";
import { toPool } from "../../apis/hub/to-pool.ts";
import { FACTS, type Facts, factsData } from "../../apis/karpenter/facts.ts";
import { isUsable } from "../../core/cloudprovider/offerings.ts";
import { KubeError } from "../../kube/errors.ts";
import { awsCatalogue } from "./aws-catalogue.ts";
import { objectsOf } from "./documents.ts";
import {
  configMapsNamed,
  factsIn,
  factsMaps,
  priceNote,
  type ReadFacts,
  settingsWith,
} from "./facts.ts";
import { sortManifests } from "./manifests.ts";
import { regionOf } from "./region.ts";
import { cloudOf } from "./sources.ts";

const POOL = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
`;

function told(facts: Facts, namespace = "karpenter") {
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: FACTS, namespace },
    data: factsData(facts),
  } as ConfigMap;
  return { where: "facts.yaml", object };
}

const PRICES = {
  region: "us-west-2",
  readAtMs: Date.UTC(2026, 0, 31),
  onDemand: new Map([["m5.large", 96_001]]),
  spot: new Map([["m5.large/us-west-2b", 31_007]]),
};

describe("the ConfigMap karpenter-facts", () => {
  it("is found among other objects; the one with the newest prices counts, in any order", () => {
    const older = { ...PRICES, readAtMs: PRICES.readAtMs - 1_000 };
    const found = [
      told({ settings: {}, prices: PRICES }),
      told({ settings: {}, prices: older }, "b"),
    ];
    expect(factsIn(found)?.where).toBe("karpenter/karpenter-facts");
    expect(factsIn([...found].reverse())?.where).toBe("karpenter/karpenter-facts");
    expect(factsIn([])).toBeUndefined();
  });

  it("says whether instance types have devices to claim", async () => {
    const { pools } = sortManifests(objectsOf("pool.yaml", POOL));
    const gpus = async (settings: Facts["settings"]) => {
      const facts = factsIn([told({ settings })]);
      const cloud = await awsCatalogue("us-west-2", sortManifests([]), facts);
      const types = await cloud.typesOf(toPool(pools[0] as never));
      const own = types.find(({ name }) => name === "g5.12xlarge")?.dynamicResources;
      return own?.pools.map(({ driver, devices }) => `${driver} ${devices.length}`);
    };
    const gate = { "aws-feature-gates": "DRANVIDIAGPU=true" };
    expect(await gpus({ ...gate, "ignore-dra-requests": "false" })).toEqual(["gpu.nvidia.com 4"]);
    expect(await gpus({ "ignore-dra-requests": "false" })).toBeUndefined();
    expect(await gpus(gate)).toBeUndefined();
  });

  it("says that spot prices are not known yet, and that spot then costs as much as on-demand", () => {
    const note = (prices: Partial<typeof PRICES>) => {
      const all = { ...PRICES, readAtMs: undefined, ...prices };
      return priceNote(factsIn([told({ settings: {}, prices: all })]) as ReadFacts);
    };
    const of = "prices: those that Karpenter uses in us-west-2";
    const where = "(ConfigMap karpenter/karpenter-facts)";
    const none = "it knows no spot price yet, so spot costs as much as on-demand";
    expect(note({ spot: new Map() })).toBe(
      `${of}, built in, as it has read none from AWS yet; ${none} ${where}`,
    );
    expect(note({})).toBe(
      `${of}, on-demand ones built in, as it could not read them from AWS ${where}`,
    );
    expect(note({ spot: new Map(), readAtMs: PRICES.readAtMs })).toBe(
      `${of}, of 2026-01-31T00:00:00Z; ${none} ${where}`,
    );
  });

  it("sets the prices of offerings, and a zone without a spot price has no spot offering", async () => {
    const facts = factsIn([told({ settings: {}, prices: PRICES })]);
    const { pools } = sortManifests(objectsOf("pool.yaml", POOL));
    const prices = async (region: string) => {
      const cloud = await awsCatalogue(region, sortManifests(objectsOf("pool.yaml", POOL)), facts);
      const types = await cloud.typesOf(toPool(pools[0] as never));
      const offerings = types.find(({ name }) => name === "m5.large")?.offerings ?? [];
      const shown = offerings.map(
        (one) => `${one.zone} ${one.capacityType} ${one.available ? one.priceMicroUsd : "none"}`,
      );
      return { shown: shown.sort(), notes: cloud.notes };
    };
    const here = await prices("us-west-2");
    expect(here.shown.filter((one) => !one.endsWith("none"))).toEqual([
      "us-west-2a on-demand 96001",
      "us-west-2b on-demand 96001",
      "us-west-2b spot 31007",
      "us-west-2c on-demand 96001",
    ]);
    expect(here.notes[0]).toBe(
      "prices: those that Karpenter uses in us-west-2, of 2026-01-31T00:00:00Z (ConfigMap karpenter/karpenter-facts)",
    );
    const elsewhere = await prices("eu-west-1");
    expect(elsewhere.notes[0]).toContain("spot prices are estimates");
    expect(elsewhere.shown).not.toContain("eu-west-1a on-demand 96001");
  });

  it("sets the free vCPU quota that a plan may use", async () => {
    const quotas = [{ code: "L-1216C47A", name: "Standard", allowed: 8, used: 6 }];
    const facts = factsIn([told({ settings: {}, prices: { ...PRICES, quotas } })]);
    const manifests = sortManifests(objectsOf("input.yaml", POOL));
    const cloud = await awsCatalogue("us-west-2", manifests, facts);
    expect(cloud.quotaRoom?.()).toEqual(new Map([["L-1216C47A", 2]]));
    const types = await cloud.typesOf(toPool(manifests.pools[0] as never));
    const large = types.find(({ name }) => name === "m5.large")?.offerings ?? [];
    const counted = large.filter(({ capacityType }) => capacityType === "on-demand");
    expect(counted.map(({ quota }) => quota)).toEqual(
      counted.map(() => ({ id: "L-1216C47A", units: 2 })),
    );
    expect(counted.length).toBeGreaterThan(0);
  });

  it("lets a plan use the reservations and images in the status of a node class", async () => {
    const status = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec: {role: r, amiFamily: AL2023, amiSelectorTerms: [{id: ami-1}], subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}
status:
  amis: [{id: ami-1, requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}]
  capacityReservations:
    - {id: cr-1, availabilityZone: us-west-2b, instanceType: m6g.large, instanceMatchCriteria: open, ownerID: "1", reservationType: default, interruptible: false, state: active}
    - {id: cr-2, availabilityZone: us-west-2a, instanceType: m6g.large, instanceMatchCriteria: open, ownerID: "1", reservationType: default, interruptible: false, state: active}
`;
    const offers = async (reserved: ReadonlyMap<string, number> | undefined) => {
      const facts = factsIn([told({ settings: {}, prices: { ...PRICES, reserved } })]);
      const manifests = sortManifests(objectsOf("input.yaml", `${POOL}---${status}`));
      const cloud = await awsCatalogue("us-west-2", manifests, facts);
      const types = await cloud.typesOf(toPool(manifests.pools[0] as never));
      const of = (name: string) => types.find((one) => one.name === name)?.offerings ?? [];
      const open = of("m6g.large").filter(
        (one) => isUsable(one) && one.capacityType === "reserved",
      );
      return {
        reserved: open.map(({ zone, reservationCapacity }) => `${zone} ${reservationCapacity}`),
        amd64: of("m5.large").filter(({ available }) => available).length,
        notes: cloud.notes.filter((note) => note.includes("reservations")),
      };
    };
    const counts = new Map([
      ["cr-1", 2],
      ["cr-2", 0],
    ]);
    expect(await offers(counts)).toEqual({ reserved: ["us-west-2b 2"], amd64: 0, notes: [] });
    expect(await offers(undefined)).toEqual({
      reserved: [],
      amd64: 0,
      notes: [
        "EC2NodeClass default: its capacity reservations are left out, for the input does not say how many instances they have room for; read the cluster with --cluster, or add the ConfigMap karpenter-facts",
      ],
    });
  });

  it("without it, a note says that reservations are left out if no status lists them", async () => {
    const asking = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: r
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
  capacityReservationSelectorTerms: [{tags: {purpose: batch}}]
`;
    const noted = async (nodeClass: string) => {
      const manifests = sortManifests(objectsOf("input.yaml", `${POOL}---${nodeClass}`));
      const cloud = await awsCatalogue("us-west-2", manifests);
      await cloud.typesOf(toPool(manifests.pools[0] as never));
      return cloud.notes.filter((note) => note.includes("reservations"));
    };
    expect(await noted(asking)).toEqual([
      "EC2NodeClass default: its capacity reservations are left out, for the input does not say which there are; read the cluster with --cluster, or add the ConfigMap karpenter-facts",
    ]);
    // A status without reservations says that there are none.
    expect(await noted(`${asking}status: {subnets: []}\n`)).toEqual([]);
  });

  it("lets a plan use the zones of the subnets in the status of a node class", async () => {
    const nodeClass = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: any
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [{id: sg-0a}]
status:
  subnets: [{id: subnet-0a, zone: us-west-2c, zoneID: usw2-az3}]
`;
    const manifests = sortManifests(objectsOf("all.yaml", `${POOL}---${nodeClass}`));
    const zonesIn = async (region: string) => {
      const { typesOf } = await awsCatalogue(region, manifests);
      const types = await typesOf(toPool(manifests.pools[0] as never));
      const sold = types.flatMap(({ offerings }) => offerings.filter((one) => one.available));
      return [...new Set(sold.map(({ zone }) => zone))].sort();
    };
    expect(regionOf(manifests)).toBe("us-west-2");
    // The note on further zones does not depend on the facts.
    const further = sortManifests(
      objectsOf("all.yaml", `${POOL}---${nodeClass.replaceAll("us-west-2c", "us-west-2d")}`),
    );
    const facts = factsIn([told({ settings: {}, prices: PRICES })]);
    const note = expect.stringMatching(/^zones: us-west-2d is a zone of the input/);
    for (const known of [undefined, facts])
      expect((await awsCatalogue("us-west-2", further, known)).notes).toContainEqual(note);
    expect(await zonesIn("us-west-2")).toEqual(["us-west-2c"]);
    // This plan is for another region, about which the subnets in the status say nothing.
    expect(await zonesIn("eu-west-1")).toEqual(["eu-west-1a", "eu-west-1b", "eu-west-1c"]);
  });

  it("decides the region, whatever zones pods require", async () => {
    const facts = factsIn([told({ settings: {}, prices: PRICES })]);
    const pod = `
apiVersion: v1
kind: Pod
metadata: {name: astray}
spec:
  nodeSelector: {topology.kubernetes.io/zone: eu-west-1a}
  containers: [{name: main, image: x}]
`;
    const manifests = sortManifests(objectsOf("all.yaml", `${POOL}---${pod}`));
    const zonesIn = async (...[flags, known]: [{ region?: string }, typeof facts?]) => {
      const { typesOf } = await cloudOf(flags, manifests, known);
      const types = await typesOf(toPool(manifests.pools[0] as never));
      return [...new Set(types.flatMap(({ offerings }) => offerings.map(({ zone }) => zone)))];
    };
    expect(await zonesIn({})).toContain("eu-west-1a");
    expect(await zonesIn({}, facts)).toContain("us-west-2b");
    expect(await zonesIn({}, facts)).not.toContain("eu-west-1a");
    expect(await zonesIn({ region: "eu-west-1" }, facts)).toContain("eu-west-1a");
  });

  it("is overridden by --setting, and its unknown settings are ignored", () => {
    const settings = { "consolidation-min-savings": "7", "surge-timeout": "1m0s", "of-later": "x" };
    const facts = factsIn([told({ settings })]);
    const { flags, notes } = settingsWith(facts, { "surge-timeout": "2m" });
    expect(flags).toEqual({ "consolidation-min-savings": "7", "surge-timeout": "2m" });
    expect(notes[0]).toMatch(
      /ConfigMap karpenter\/karpenter-facts\), but for --setting surge-time/,
    );
    const bad = settingsWith(factsIn([told({ settings: { "surge-timeout": "soon" } })]), {});
    expect(bad.flags).toEqual({});
    expect(bad.notes[0]).toContain("passed over");
  });

  it("is found by its label if its release gave it another name", async () => {
    const labels = { "app.kubernetes.io/component": "karpenter-facts" };
    const usual = { ...told({ settings: {} }).object.metadata, labels };
    const other = { ...usual, name: "next-karpenter-facts" };
    const of: Readonly<Record<string, readonly object[]>> = {
      "metadata.name=karpenter-facts": [usual],
      "app.kubernetes.io/component=karpenter-facts": [usual, other],
    };
    const list = async (_: unknown, { fieldSelector = "", labelSelector = "" }) => ({
      items: of[fieldSelector + labelSelector]?.map((metadata) => ({
        ...told({ settings: {} }).object,
        metadata,
      })),
    });
    const found = await factsMaps({ list } as never);
    const names = found.map(({ object }) => object.metadata.name);
    expect(names).toEqual(["karpenter-facts", "next-karpenter-facts"]);
    expect(factsIn(found.slice(1))?.where).toBe("karpenter/next-karpenter-facts");
  });

  it("is looked for in Karpenter's usual namespaces if listing all namespaces is forbidden", async () => {
    const refused = () =>
      Promise.reject(new KubeError(403, { reason: "Forbidden" } as never, "listing"));
    const gone = () =>
      Promise.reject(
        new KubeError(404, { reason: "NotFound", details: { name: "facts" } }, "getting"),
      );
    const { object } = told({ settings: {} }, "kube-system");
    const asked: string[] = [];
    const get = async (_: unknown, { namespace = "" }: { namespace?: string }) => {
      asked.push(namespace);
      return namespace === "kube-system" ? object : gone();
    };
    const found = await configMapsNamed({ list: refused, get } as never, FACTS);
    expect(asked).toEqual(["karpenter", "kube-system"]);
    expect(factsIn(found)?.where).toBe("kube-system/karpenter-facts");
  });
});

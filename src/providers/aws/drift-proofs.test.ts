/** What proves that a node drifts where EC2's answers by ID are missing, late or come at the same time. */
import { describe, expect, it } from "vitest";
import { toAwsClass } from "../../apis/hub/aws-class.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { SILENT } from "../../base/log.ts";
import { StandingProblems } from "../../base/standing-problems.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import { awsClaim, ec2NodeClass } from "../../testing/aws-world.ts";
import { instanceType } from "../../testing/builders.ts";
import { Amis } from "./ami/amis.ts";
import type { AwsApi } from "./api/aws-api.ts";
import { AwsError } from "./api/call.ts";
import type { DescribeImagesInput, Image } from "./api/images-and-types.ts";
import type { DescribeCapacityReservationsInput } from "./api/reservations.ts";
import { selectionDrift } from "./drift-check.ts";
import type { AwsDeps, AwsParts } from "./parts.ts";
import { CapacityReservations } from "./reservation/reservations.ts";

const TAGS = [{ Key: "team", Value: "red" }];

/** When the test's claims were created: between the images that are old and those that are new. */
const BEFORE = "2020-01-01T00:00:00Z";
const AFTER = "2027-01-01T00:00:00Z";

function image(ImageId: string, CreationDate: string, Architecture = "x86_64"): Image {
  return {
    ...{ ImageId, Name: ImageId, CreationDate, Architecture },
    State: "available",
    Tags: TAGS,
  };
}

const CR = {
  ...{ CapacityReservationId: "cr-1", State: "active", Tags: TAGS, AvailableInstanceCount: 1 },
  ...{ InstanceType: "m5.large", AvailabilityZone: "a" },
};

/** An account. `gone`: images that EC2 describes no more. `hidden`: images that its lists lack. */
function world(images: readonly Image[], settings: Partial<AwsDeps["settings"]> = {}) {
  const clock = new VirtualClock();
  const gone = new Set<string>();
  const hidden = new Set<string>();
  const state = { throttled: false, reservation: undefined as string | undefined };
  const warnings: string[] = [];
  const events: string[] = [];
  const api = {
    ec2: {
      describeImages: async ({ ImageIds }: DescribeImagesInput) => {
        if (ImageIds !== undefined && state.throttled)
          throw new AwsError("RequestLimitExceeded", "too many calls", 503);
        const isThere = (id: string) => !gone.has(id) && (ImageIds ?? [id]).includes(id);
        const isShown = (id: string) => ImageIds !== undefined || !hidden.has(id);
        return {
          Images: images.filter(({ ImageId: id }) => isThere(id) && isShown(id)),
        };
      },
      describeCapacityReservations: async (_: DescribeCapacityReservationsInput) => ({
        CapacityReservations: [CR],
      }),
    },
    ssm: {},
  } as unknown as AwsApi;
  const parts = {
    amis: new Amis({
      ...{ api, clock, log: SILENT, refreshMs: 60_000 },
      kubernetesVersion: async () => "1.34",
    }),
    reservations: new CapacityReservations({ ec2: api.ec2, clock, log: SILENT }),
    doubts: new StandingProblems(SILENT, clock),
    subnets: { list: async () => [{ SubnetId: "subnet-1" }] },
    securityGroups: { list: async () => [{ GroupId: "sg-1" }] },
    placementGroups: { find: async () => undefined },
    instanceTypes: {
      list: async () => [type("m5.large", "amd64"), type("m6g.large", "arm64")],
    },
    batches: {
      instance: async () => ({
        ...{ InstanceType: "m5.large", SubnetId: "subnet-1", Placement: { AvailabilityZone: "a" } },
        SecurityGroups: [{ GroupId: "sg-1" }],
        ...(state.reservation === undefined ? {} : { CapacityReservationId: state.reservation }),
      }),
    },
  } as unknown as AwsParts;
  const deps = {
    settings,
    log: { ...SILENT, warn: (message: string) => warnings.push(message) },
    events: { publish: ({ reason }: EventToPublish) => events.push(reason) },
  } as unknown as AwsDeps;
  const nodeClass = toAwsClass(
    ec2NodeClass({
      ...{ amiSelectorTerms: [{ tags: { team: "red" } }], amiFamily: "AL2023" },
      capacityReservationSelectorTerms: [{ tags: { team: "red" } }],
    }),
  );
  const drifts = async (...nodes: readonly NodeClaim[]) => {
    const work = Promise.all(nodes.map((node) => selectionDrift({ deps, parts }, node, nodeClass)));
    const [reasons] = await Promise.all([work, clock.advance(5_000)]);
    return reasons;
  };
  return { clock, gone, hidden, state, warnings, events, drifts };
}

function type(name: string, arch: string) {
  return { ...instanceType(), name, labels: { "kubernetes.io/arch": [arch] } };
}

function node(imageID: string, typeName = "m5.large"): NodeClaim {
  const claim = awsClaim([], { name: imageID });
  const labels = { "node.kubernetes.io/instance-type": typeName };
  const metadata = { ...claim.metadata, labels };
  return { ...claim, metadata, status: { imageID, providerID: "aws:///a/i-1" } };
}

describe("a node whose image was deregistered, so that EC2 answers nothing about it", () => {
  it("is AMIDrift if the image that it should have was made after the node", async () => {
    const { drifts, gone } = world([image("ami-old", BEFORE), image("ami-new", AFTER)]);
    gone.add("ami-old");
    expect(await drifts(node("ami-old"))).toEqual(["AMIDrift"]);
  });

  it("is no drift if that image is older than the node, because EC2's answers may be short", async () => {
    const { clock, drifts, events, gone, warnings } = world([
      image("ami-old", BEFORE),
      image("ami-new", "2021-01-01T00:00:00Z"),
    ]);
    expect(await drifts(node("ami-new"))).toEqual([undefined]);
    gone.add("ami-new");
    await clock.advance(61_000);
    expect(await drifts(node("ami-new"))).toEqual([undefined]);
    expect(warnings).toHaveLength(1);
    expect(events).toEqual(["DriftUnproven"]);
  });
});

describe("two checks at once", () => {
  it("do not undo each other's proofs, so that no node of a selected image drifts", async () => {
    const images = [
      ...[image("ami-x1", BEFORE), image("ami-x2", "2021-01-01T00:00:00Z")],
      ...[image("ami-a1", BEFORE, "arm64"), image("ami-a2", "2021-01-01T00:00:00Z", "arm64")],
    ];
    const { drifts, hidden } = world(images);
    hidden.add("ami-x2").add("ami-a2");
    const nodes = [node("ami-x2"), node("ami-a2", "m6g.large")];
    expect(await drifts(...nodes)).toEqual([undefined, undefined]);
  });
});

describe("a question by ID that fails", () => {
  it("makes the check fail, so that the condition Drifted stays as it is", async () => {
    const images = [image("ami-old", BEFORE), image("ami-new", AFTER)];
    const { clock, drifts, events, state } = world(images);
    expect(await drifts(node("ami-old"))).toEqual(["AMIDrift"]);
    expect(events).toEqual([]);
    state.throttled = true;
    await clock.advance(61_000);
    await expect(drifts(node("ami-old"))).rejects.toThrow("too many calls");
    expect(events).toEqual(["DriftUnproven"]);
    state.throttled = false;
    await clock.advance(20_000);
    expect(await drifts(node("ami-old"))).toEqual(["AMIDrift"]);
  });
});

describe("an instance in a capacity reservation that the terms select", () => {
  it("is CapacityReservationDrift without the feature gate ReservedCapacity, and no drift with it", async () => {
    for (const [reservedCapacity, reason] of [
      [false, "CapacityReservationDrift"],
      [true, undefined],
    ] as const) {
      const { drifts, state, warnings } = world([image("ami-1", BEFORE)], { reservedCapacity });
      state.reservation = "cr-1";
      expect(await drifts(node("ami-1"))).toEqual([reason]);
      expect(warnings).toEqual([]);
    }
  });
});

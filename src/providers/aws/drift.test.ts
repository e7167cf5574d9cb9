import { describe, expect, it } from "vitest";
import { type AwsClass, toAwsClass } from "../../apis/hub/aws-class.ts";
import { awsClaim, ec2NodeClass } from "../../testing/aws-world.ts";
import { instanceType } from "../../testing/builders.ts";
import type { Ami } from "./ami/choose.ts";
import type { Instance } from "./api/instances.ts";
import type { SecurityGroup, Subnet } from "./api/network.ts";
import {
  type DriftInput,
  differences,
  type Evidence,
  hashAnnotations,
  provenDrift,
  staticDrift,
} from "./drift.ts";
import type { ProofVerdict } from "./selection/proven-lists.ts";

const CLASS: AwsClass = toAwsClass(ec2NodeClass());
const AMI: Ami = { id: "ami-1", name: "a", creationDate: "", deprecated: false, requirements: [] };
const BASE: DriftInput = {
  claim: { ...awsClaim([]), status: { imageID: "ami-1" } },
  nodeClass: CLASS,
  type: instanceType(),
  amis: [AMI],
  candidates: new Set(["ami-1"]),
  subnets: [{ SubnetId: "subnet-1" } as Subnet],
  securityGroups: [{ GroupId: "sg-1" } as SecurityGroup],
  instance: {
    InstanceType: "m5.large",
    SubnetId: "subnet-1",
    SecurityGroups: [{ GroupId: "sg-1" }],
    Placement: { AvailabilityZone: "a" },
  } as unknown as Instance,
  reservations: [],
  placementGroup: undefined,
};

/** What EC2 answers by ID: everything that the node has fails the selector, everything that it lacks passes it. */
function evidence(
  input: DriftInput,
  change: Partial<Record<"has" | "lacks", ProofVerdict>> = {},
): Evidence {
  const proofs = {
    amis: new Map(),
    subnets: new Map(),
    securityGroups: new Map(),
    reservations: new Map(),
  };
  for (const { kind, has, lacks } of differences(input)) {
    for (const id of has)
      proofs[kind].set(id, { verdict: change.has ?? "refused", one: undefined });
    for (const id of lacks)
      proofs[kind].set(id, { verdict: change.lacks ?? "selected", one: undefined });
  }
  return { proofs, again: input.instance };
}

function dynamicDrift(input: DriftInput): string | undefined {
  return provenDrift(input, evidence(input)).reason;
}

describe("drift by what the selectors of a class match", () => {
  it("is absent while image, subnet and security groups are among those of the class", () => {
    expect(dynamicDrift(BASE)).toBeUndefined();
  });

  it.each<[string, Partial<DriftInput>]>([
    ["AMIDrift", { amis: [{ ...AMI, id: "ami-2" }] }],
    ["SubnetDrift", { subnets: [{ SubnetId: "subnet-2" } as Subnet] }],
    [
      "SecurityGroupDrift",
      { securityGroups: [{ GroupId: "sg-1" }, { GroupId: "sg-2" }] as SecurityGroup[] },
    ],
  ])("S3-07 S3-15 S3-16 is %s after that selection changed", (reason, change) => {
    expect(dynamicDrift({ ...BASE, ...change })).toBe(reason);
  });

  it("is PlacementGroupDrift if the class selects another placement group than the instance has, or only one of them has one", () => {
    const near = { id: "pg-1", name: "near", strategy: "cluster", partitions: [] };
    const labels = { "karpenter.k8s.aws/placement-group-id": "pg-1" };
    const inside = {
      ...BASE,
      claim: { ...awsClaim([], { labels }), status: BASE.claim.status ?? {} },
    };
    expect(dynamicDrift({ ...inside, placementGroup: near })).toBeUndefined();
    for (const input of [
      { ...BASE, placementGroup: near },
      { ...inside, placementGroup: { ...near, id: "pg-2" } },
      inside,
    ])
      expect(dynamicDrift(input)).toBe("PlacementGroupDrift");
  });

  it("is absent while the selectors match nothing, because the class reports that itself", () => {
    const change = { amis: [], subnets: [], securityGroups: [] };
    expect(dynamicDrift({ ...BASE, ...change })).toBeUndefined();
  });
});

const DRIFTS: readonly [string, DriftInput][] = [
  ["AMIDrift", { ...BASE, amis: [{ ...AMI, id: "ami-2" }] }],
  ["SubnetDrift", { ...BASE, subnets: [{ SubnetId: "subnet-2" } as Subnet] }],
  ["SecurityGroupDrift", { ...BASE, securityGroups: [{ GroupId: "sg-2" }] as SecurityGroup[] }],
  [
    "CapacityReservationDrift",
    { ...BASE, instance: { ...BASE.instance, CapacityReservationId: "cr-1" } as Instance },
  ],
];

describe("a difference that EC2 does not prove", () => {
  it.each(DRIFTS)("is no %s if EC2 does not describe what the node has", (reason, input) => {
    expect(dynamicDrift(input)).toBe(reason);
    const doubt = provenDrift(input, evidence(input, { has: "doubted", lacks: "doubted" }));
    expect(doubt.reason).toBeUndefined();
    expect(doubt.doubted.map((one) => one.reason)).toEqual([reason]);
  });

  it.each(DRIFTS)("is no %s if the selector matches what the node has", (reason, input) => {
    // The newer image is not described by ID, and the group that the node lacks is not either.
    const { reason: found } = provenDrift(
      input,
      evidence(input, { has: "selected", lacks: "doubted" }),
    );
    expect(found).toBeUndefined();
    expect(differences(input).map((one) => one.reason)).toEqual([reason]);
  });

  it.each(DRIFTS.slice(1))("is no %s if EC2 says that there is no such thing", (_, input) => {
    const { reason } = provenDrift(input, evidence(input, { has: "unknown", lacks: "doubted" }));
    expect(reason).toBeUndefined();
  });

  it("is AMIDrift if EC2 says that the image is gone, or the terms name other images", () => {
    const [, input] = DRIFTS[0] as (typeof DRIFTS)[number];
    for (const has of ["unknown", "excluded", "selected"] as const)
      expect(provenDrift(input, evidence(input, { has })).reason).toBe("AMIDrift");
  });

  it("is AMIDrift if no image fits the type and the class does not select the node's image", () => {
    const amis = [
      {
        ...AMI,
        id: "ami-2",
        requirements: [{ key: "kubernetes.io/arch", operator: "In", values: ["arm64"] }],
      },
    ] as const;
    const alias = {
      ...BASE,
      amis,
      nodeClass: { ...CLASS, amiTerms: [{ alias: "al2023@latest" }] },
    };
    // SSM says so if a parameter does not exist. It does not leave one out, as a short list does (S3-07).
    expect(dynamicDrift(alias)).toBe("AMIDrift");
    const named = { ...alias, nodeClass: { ...CLASS, amiTerms: [{ name: "mine-*" }] } };
    expect(dynamicDrift(named)).toBe("AMIDrift");
  });

  it("is no drift if EC2 describes the instance differently the second time, without groups, or in another zone", () => {
    for (const [, input] of DRIFTS.slice(1)) {
      const { proofs } = evidence(input);
      expect(provenDrift(input, { proofs, again: undefined }).reason).toBeUndefined();
      const again = { ...input.instance, SecurityGroups: [] } as unknown as Instance;
      expect(provenDrift(input, { proofs, again }).reason).toBeUndefined();
    }
    const bare = {
      ...BASE,
      instance: { ...BASE.instance, SecurityGroups: [] } as unknown as Instance,
    };
    expect(dynamicDrift(bare)).toBeUndefined();
    const [, moved] = DRIFTS[1] as (typeof DRIFTS)[number];
    const { proofs } = evidence(moved);
    const one = { SubnetId: "subnet-1", AvailabilityZone: "b" } as Subnet;
    const subnets = new Map([["subnet-1", { verdict: "refused" as const, one }]]);
    const asked = { proofs: { ...proofs, subnets }, again: moved.instance };
    expect(provenDrift(moved, asked).reason).toBeUndefined();
  });
});

describe("drift by the hash of the class", () => {
  const stamped = awsClaim([], { annotations: { ...hashAnnotations(CLASS) } });

  it("compares only hashes of the same hash version", () => {
    expect(staticDrift(stamped, CLASS)).toBeUndefined();
    expect(staticDrift(stamped, { ...CLASS, hash: "other" })).toBe("NodeClassDrift");
    const foreign = awsClaim([], {
      annotations: {
        "karpenter.k8s.aws/ec2nodeclass-hash": "1",
        "karpenter.k8s.aws/ec2nodeclass-hash-version": "v5",
      },
    });
    expect(staticDrift(foreign, CLASS)).toBeUndefined();
    expect(staticDrift(awsClaim([]), CLASS)).toBeUndefined();
  });
});

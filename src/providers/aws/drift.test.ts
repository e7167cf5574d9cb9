import { describe, expect, it } from "vitest";
import { type AwsClass, toAwsClass } from "../../apis/hub/aws-class.ts";
import { awsClaim, ec2NodeClass } from "../../testing/aws-world.ts";
import { instanceType } from "../../testing/builders.ts";
import type { Ami } from "./ami/choose.ts";
import type { Instance } from "./api/instances.ts";
import type { SecurityGroup, Subnet } from "./api/network.ts";
import { type DriftInput, dynamicDrift, hashAnnotations, staticDrift } from "./drift.ts";

const CLASS: AwsClass = toAwsClass(ec2NodeClass());
const AMI: Ami = { id: "ami-1", name: "a", creationDate: "", deprecated: false, requirements: [] };
const BASE: DriftInput = {
  claim: { ...awsClaim([]), status: { imageID: "ami-1" } },
  nodeClass: CLASS,
  type: instanceType(),
  amis: [AMI],
  subnets: [{ SubnetId: "subnet-1" } as Subnet],
  securityGroups: [{ GroupId: "sg-1" } as SecurityGroup],
  instance: { SubnetId: "subnet-1", SecurityGroups: [{ GroupId: "sg-1" }] } as unknown as Instance,
  reservations: [],
  placementGroup: undefined,
};

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

import { describe, expect, it } from "vitest";
import { seedObjects } from "../../testing/seed-manifests.ts";
import { amiTerms, securityGroupTerms, subnetTerms } from "../aws/alpha-selectors.ts";
import type { AWSNodeTemplate } from "../aws/awsnodetemplate.ts";
import type { EC2NodeClass } from "../aws/ec2nodeclass.ts";
import { toAwsClass } from "./aws-class.ts";
import { convertObject } from "./conversion.ts";

describe("selector maps of v1alpha1 converted to selector terms", () => {
  it("become the product of their alternatives, the first key varying fastest", () => {
    expect(subnetTerms({ b: "3,4", a: "1,2" })).toEqual([
      { tags: { a: "1", b: "3" } },
      { tags: { a: "2", b: "3" } },
      { tags: { a: "1", b: "4" } },
      { tags: { a: "2", b: "4" } },
    ]);
  });

  it("separate ids from tags, and keep commas escaped by a backslash", () => {
    expect(securityGroupTerms({ "aws-ids": "sg-1,sg-2" })).toEqual([
      { id: "sg-1" },
      { id: "sg-2" },
    ]);
    expect(subnetTerms({ "aws::ids": "subnet-1", a: "*" })).toEqual([
      { id: "subnet-1", tags: { a: "*" } },
    ]);
    expect(subnetTerms({ a: "x\\,y" })).toEqual([{ tags: { a: "x,y" } }]);
  });

  it("vary the owners of AMIs last", () => {
    expect(amiTerms({ "aws::owners": "self,amazon", "aws::name": "n1,n2" })).toEqual([
      { name: "n1", owner: "self" },
      { name: "n2", owner: "self" },
      { name: "n1", owner: "amazon" },
      { name: "n2", owner: "amazon" },
    ]);
    expect(amiTerms(undefined)).toEqual([]);
  });
});

describe("an AWS node class in hub form", () => {
  it("has the defaults of an AWSNodeTemplate", () => {
    const [native] = seedObjects("s0-03-custom_ami_node_template.yaml") as [AWSNodeTemplate];
    expect(toAwsClass(native)).toMatchObject({
      generation: "alpha",
      id: "awsnodetemplate/custom",
      amiFamily: "Ubuntu",
      amiTerms: [],
      ready: true,
      subnetTerms: [{ tags: { "alpha.eksctl.io/cluster-name": "karpenter-demo" } }],
      metadataOptions: {
        httpEndpoint: "enabled",
        httpProtocolIPv6: "disabled",
        httpPutResponseHopLimit: 2,
        httpTokens: "required",
      },
      nameTag: "atLaunch",
      tags: { "ami-type": "ubuntu" },
    });
  });

  it("is made from a Provisioner's inline provider", () => {
    const [native] = seedObjects("s1-02-provisioner-RECONSTRUCTED.yaml");
    expect(toAwsClass(native)).toMatchObject({
      id: "provisioner/default",
      amiFamily: "AL2",
      instanceProfile: "KarpenterNodeInstanceProfile-karpenter-demo",
    });
  });

  it("has the amiFamily of the alias of a converted v1beta1 class", () => {
    const beta = seedObjects("s2-03-ec2nodeclass.yaml").find((one) => one.kind === "EC2NodeClass");
    const native = convertObject(beta, "karpenter.k8s.aws/v1") as EC2NodeClass;
    expect(toAwsClass(native)).toMatchObject({
      generation: "beta",
      amiFamily: beta.spec.amiFamily,
      ready: false,
    });
  });

  it("has a hash of userData, not of subnetSelectorTerms", () => {
    const [beta] = seedObjects("s3-30-ec2nodeclass-full.yaml");
    const native = convertObject(beta, "karpenter.k8s.aws/v1") as EC2NodeClass;
    const hash = (spec: object) =>
      toAwsClass({ ...native, spec: { ...native.spec, ...spec } }).hash;
    expect(hash({ subnetSelectorTerms: [] })).toBe(hash({}));
    expect(hash({ userData: "x" })).not.toBe(hash({}));
  });
});

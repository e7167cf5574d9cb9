import { describe, expect, it } from "vitest";
import { seedObjects } from "../../testing/seed-manifests.ts";
import { amiTerms, securityGroupTerms, subnetTerms } from "../aws/alpha-selectors.ts";
import type { AWSNodeTemplate } from "../aws/awsnodetemplate.ts";
import type { EC2NodeClass } from "../aws/ec2nodeclass.ts";
import { toAwsClass } from "./aws-class.ts";
import { convertObject } from "./conversion.ts";

describe("alpha's map selectors as terms", () => {
  it("are the product of their alternatives, the first key varying fastest", () => {
    expect(subnetTerms({ b: "3,4", a: "1,2" })).toEqual([
      { tags: { a: "1", b: "3" } },
      { tags: { a: "2", b: "3" } },
      { tags: { a: "1", b: "4" } },
      { tags: { a: "2", b: "4" } },
    ]);
  });

  it("take ids apart from tags, and commas escaped by a backslash as they are", () => {
    expect(securityGroupTerms({ "aws-ids": "sg-1,sg-2" })).toEqual([
      { id: "sg-1" },
      { id: "sg-2" },
    ]);
    expect(subnetTerms({ "aws::ids": "subnet-1", a: "*" })).toEqual([
      { id: "subnet-1", tags: { a: "*" } },
    ]);
    expect(subnetTerms({ a: "x\\,y" })).toEqual([{ tags: { a: "x,y" } }]);
  });

  it("put owners of images outermost", () => {
    expect(amiTerms({ "aws::owners": "self,amazon", "aws::name": "n1,n2" })).toEqual([
      { name: "n1", owner: "self" },
      { name: "n2", owner: "self" },
      { name: "n1", owner: "amazon" },
      { name: "n2", owner: "amazon" },
    ]);
    expect(amiTerms(undefined)).toEqual([]);
  });
});

describe("the AWS class in hub form", () => {
  it("fills in alpha's defaults", () => {
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

  it("reads an inline provider as a class of the Provisioner's own", () => {
    const [native] = seedObjects("s1-02-provisioner-RECONSTRUCTED.yaml");
    expect(toAwsClass(native)).toMatchObject({
      id: "provisioner/default",
      amiFamily: "AL2",
      instanceProfile: "KarpenterNodeInstanceProfile-karpenter-demo",
    });
  });

  it("takes the family of a converted beta class from its alias", () => {
    const beta = seedObjects("s2-03-ec2nodeclass.yaml").find((one) => one.kind === "EC2NodeClass");
    const native = convertObject(beta, "karpenter.k8s.aws/v1") as EC2NodeClass;
    expect(toAwsClass(native)).toMatchObject({
      generation: "beta",
      amiFamily: beta.spec.amiFamily,
      ready: false,
    });
  });

  it("hashes what shapes an instance and not what selects", () => {
    const [beta] = seedObjects("s3-30-ec2nodeclass-full.yaml");
    const native = convertObject(beta, "karpenter.k8s.aws/v1") as EC2NodeClass;
    const hash = (spec: object) =>
      toAwsClass({ ...native, spec: { ...native.spec, ...spec } }).hash;
    expect(hash({ subnetSelectorTerms: [] })).toBe(hash({}));
    expect(hash({ userData: "x" })).not.toBe(hash({}));
  });
});

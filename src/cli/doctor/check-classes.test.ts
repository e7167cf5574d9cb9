import { describe, expect, it } from "vitest";
import { checkImages } from "./check-classes.ts";

const ARCH = "kubernetes.io/arch";
const amd64 = { key: ARCH, operator: "In", values: ["amd64"] };
const arm64 = { key: ARCH, operator: "In", values: ["arm64"] };

/** The check of one class with an AMI for each of these, used by one NodePool. */
function check(images: readonly object[], requirements: readonly object[]) {
  const classes = [
    {
      kind: "EC2NodeClass",
      metadata: { name: "default" },
      status: { amis: images.map((one, at) => ({ id: `ami-${at}`, requirements: [one] })) },
    },
  ];
  const template = { spec: { nodeClassRef: { name: "default" }, requirements } };
  const pools = [{ metadata: { name: "own" }, spec: { template } }];
  return checkImages({ classes, pools } as unknown as Parameters<typeof checkImages>[0]);
}

describe("karpenter doctor about the images of a class", () => {
  it("names the architectures that the NodePool wants and no AMI has", () => {
    const [item] = check([amd64], [arm64]);
    expect(item?.says).toBe("AMIs for amd64 only, and the NodePool wants arm64");
    expect(item?.remedy).toContain("add an AMI for arm64 to");
  });

  it("advises no AMI if the NodePool's requirements exclude every architecture", () => {
    const s390x = { key: ARCH, operator: "In", values: ["s390x"] };
    for (const requirements of [[amd64, arm64], [s390x]]) {
      const [item] = check([amd64, arm64], requirements);
      expect(item?.state).toBe("todo");
      expect(item?.says).toContain("allow none of");
      expect(item?.remedy).not.toContain("add an AMI");
    }
  });
});

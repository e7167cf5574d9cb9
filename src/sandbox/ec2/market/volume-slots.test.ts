import { describe, expect, it } from "vitest";
import { embeddedCatalogue } from "./catalogue.ts";

describe("the EBS volumes that a type takes", () => {
  it.each([
    ["m5.large", 27, "shared"],
    ["c7g.4xlarge", 27, "shared"],
    ["t2.large", 40, "shared"],
    ["m5.metal", 31, "shared"],
    ["c7i.large", 32, "dedicated"],
    ["m7a.16xlarge", 48, "dedicated"],
    ["r8g.48xlarge", 128, "dedicated"],
    ["g6.24xlarge", 64, "dedicated"],
    ["c7i.metal-24xl", 39, "dedicated"],
    ["g4dn.12xlarge", 22, "shared"],
    ["g5.xlarge", 25, "shared"],
    ["c5d.large", 26, "shared"],
    ["inf1.6xlarge", 23, "shared"],
    ["p4d.24xlarge", 28, "dedicated"],
    ["p5.48xlarge", 64, "dedicated"],
    ["trn2.48xlarge", 64, "dedicated"],
    ["r8gn.48xlarge", 128, "dedicated"],
  ])("are for %s as EC2 says", (type, MaximumEbsAttachments, AttachmentLimitType) => {
    expect(embeddedCatalogue().info(type)?.EbsInfo).toMatchObject({
      MaximumEbsAttachments,
      AttachmentLimitType,
    });
  });
});

import { describe, expect, it } from "vitest";
import { embeddedCatalogue } from "../../../sandbox/ec2/market/catalogue.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import { baselineOf } from "./baseline.ts";

describe("the baseline CPU of an instance type", () => {
  it("is AWS's share of each vCPU for burstable types, and absent for others", () => {
    const of = (name: string) => baselineOf(embeddedCatalogue().info(name) as InstanceTypeInfo);
    const names = "t3.nano t3a.micro t4g.small t3.large t3.2xlarge t2.small t2.xlarge t2.2xlarge";
    expect(names.split(" ").map((name) => of(name)?.["cpu"])).toEqual([
      100, 200, 400, 600, 3_200, 200, 900, 1_344,
    ]);
    expect(["m5.large", "c7g.medium", "trn1.2xlarge"].map(of)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

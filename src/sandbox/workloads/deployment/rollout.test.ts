import { describe, expect, it } from "vitest";
import type { Deployment } from "../../../apis/apps/kinds.ts";
import { sumOf } from "./rollout.ts";

const of = (replicas: number, rollingUpdate: object | undefined, type = "RollingUpdate") =>
  sumOf({ spec: { replicas, strategy: { type, rollingUpdate } } } as unknown as Deployment);

// upstream: kubernetes pkg/controller/deployment/util, ResolveFenceposts
describe("maxSurge and maxUnavailable of a Deployment", () => {
  it("are rounded up for maxSurge and down for maxUnavailable", () => {
    expect(of(5, { maxSurge: "30%", maxUnavailable: "30%" })).toEqual({
      maxSurge: 2,
      maxUnavailable: 1,
    });
    expect(of(3, undefined)).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    expect(of(10, { maxSurge: "25%", maxUnavailable: "99%" })).toEqual({
      maxSurge: 3,
      maxUnavailable: 9,
    });
  });

  it("allow one unavailable pod if both are zero, and never more than there are", () => {
    expect(of(5, { maxSurge: 0, maxUnavailable: "1%" })).toEqual({
      maxSurge: 0,
      maxUnavailable: 1,
    });
    expect(of(2, { maxSurge: 0, maxUnavailable: 7 })).toEqual({ maxSurge: 0, maxUnavailable: 2 });
    expect(of(2, undefined, "Recreate")).toEqual({ maxSurge: 0, maxUnavailable: 0 });
  });
});

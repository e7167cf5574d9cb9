import { expect, it } from "vitest";
import { type AwsClass, toAwsClass } from "../../../apis/hub/aws-class.ts";
import type { Ami } from "../ami/choose.ts";
import type { Subnet } from "../api/network.ts";
import type { Reservation } from "../reservation/reservations.ts";
import { LastAsked, type TypesRequest } from "./last-asked.ts";

const aClass = (): AwsClass => toAwsClass({ metadata: { name: "c" }, spec: {} } as never);
const one = <T>(fields: object = {}): T => fields as T;

it("computes again once the class, its kubelet settings or what it selects are others, and not before", () => {
  const subnets = [one<Subnet>(), one<Subnet>()];
  const selected = { subnets, amis: [one<Ami>()], reservations: [], placementGroup: undefined };
  const request: TypesRequest = { nodeClass: aClass(), kubelet: undefined, selected };
  const asked = new LastAsked<number>();
  let made = 0;
  const get = (now: TypesRequest) => asked.get(now, () => ++made);
  expect(get(request)).toBe(1);
  // EC2's lists are copied for each request. Their items are the same.
  expect(get({ ...request, selected: { ...selected, subnets: [...subnets] } })).toBe(1);
  const group = { id: "pg-1", name: "g", strategy: "cluster", partitions: [] };
  const others: readonly TypesRequest[] = [
    { ...request, kubelet: {} },
    { ...request, selected: { ...selected, subnets: subnets.toReversed() } },
    { ...request, selected: { ...selected, amis: [] } },
    { ...request, selected: { ...selected, reservations: [one<Reservation>()] } },
    { ...request, selected: { ...selected, placementGroup: group } },
    { ...request, nodeClass: aClass() },
  ];
  for (const other of others) {
    const before = get(request);
    expect(get(other)).toBeGreaterThan(before);
  }
});

import { expect, it } from "vitest";
import { INSTANCE_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import { solve } from "../provisioning/solve.ts";
import { inFlight, launched } from "./launched.ts";

const ZONE_ID = "topology.k8s.aws/zone-id";
const TENANCY = "karpenter.k8s.aws/instance-tenancy";

it("a launched node has its type's labels; if the type has several values, its offering or claim decides", () => {
  const offerings = ["a", "b"].map((one) => ({
    ...{ zone: `zone-${one}`, capacityType: "on-demand" as const, available: true },
    ...{ priceMicroUsd: one === "a" ? 200_000 : 100_000, labels: { [ZONE_ID]: `id-${one}` } },
  }));
  const labels = { [ZONE_ID]: ["id-a", "id-b"], [TENANCY]: ["default", "dedicated"] };
  const types = [instanceType({ name: "c-4x", cpu: 4, offerings, labels })];
  const first = pod({ spec: { nodeSelector: { [TENANCY]: "dedicated" } } });
  const options = { ...schedulingInput().options, wellKnownLabels: [ZONE_ID, TENANCY] };
  const input = { ...schedulingInput({ pods: [first], pools: [poolInput({}, types)] }), options };
  const [plan] = solve(input).newClaims as [PlannedClaim];
  const view = launched({ plan, name: "new", pods: [first], command: undefined, nowMs: 0 });
  expect(view.labels).toMatchObject({
    [INSTANCE_TYPE_LABEL_KEY]: "c-4x",
    [TOPOLOGY_ZONE_LABEL_KEY]: "zone-b",
    [ZONE_ID]: "id-b",
    [TENANCY]: "dedicated",
  });
});

it("a launched claim names its Node only once it is registered; the Node has the taints of its pool", () => {
  const taints = [{ key: "team", value: "a", effect: "NoSchedule" as const }];
  const first = pod({ spec: { tolerations: [{ key: "team", operator: "Exists" }] } });
  const input = schedulingInput({ pods: [first], pools: [poolInput({ taints })] });
  const [plan] = solve(input).newClaims as [PlannedClaim];
  const view = launched({ plan, name: "new", pods: [first], command: undefined, nowMs: 0 });
  expect([view.claim?.status?.nodeName, view.node?.spec?.taints]).toEqual(["new", taints]);
  const before = inFlight({ plan, name: "new", nowMs: 0 });
  expect([before.claim?.status?.nodeName, before.node]).toEqual([undefined, undefined]);
});

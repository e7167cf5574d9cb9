import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { atOnce } from "../../base/steps.ts";
import { nodeClaim, nodeView } from "../../testing/builders.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";
import type { NodeView } from "../state/node-view.ts";
import { causeOf, stopsFor, survey } from "./survey.ts";

const POLICIES: readonly RepairPolicy[] = [
  {
    conditionType: "Disk",
    conditionStatus: "False",
    tolerationMs: 60_000,
    priority: 0,
    action: "ReplaceNode",
  },
];

interface Traits {
  readonly pool?: string;
  readonly image?: string;
  readonly type?: string;
  readonly zone?: string;
}

let made = 0;

function nodes(count: number, isBroken: boolean, traits: Traits): readonly NodeView[] {
  const { pool = "p", image = "ami-1", type = "m5.large", zone = "a" } = traits;
  return Array.from({ length: count }, () => {
    const name = `n${made++}`;
    const labels = {
      "karpenter.sh/nodepool": pool,
      "karpenter.sh/registered": "true",
      "node.kubernetes.io/instance-type": type,
      "topology.kubernetes.io/zone": zone,
    };
    const claim = nodeClaim({
      name,
      metadata: { labels },
      status: { providerID: `test://${name}`, imageID: image },
    });
    const view = nodeView({ node: { name, labels }, claim, pods: [] });
    const disk = { type: "Disk", status: isBroken ? "False" : "True" } as const;
    const conditions = [{ ...disk, lastTransitionTime: toRfc3339(0) }];
    return { ...view, node: { ...(view.node as Node), status: { conditions } } };
  });
}

const causesOf = (views: readonly NodeView[]) =>
  atOnce(survey(views, POLICIES)).causes.map(
    ({ kind, value, broken, nodes: there }) => `${kind} ${value}: ${broken} of ${there}`,
  );

describe("survey", () => {
  it("names the image, type or zone that unhealthy nodes share and healthy ones do not", () => {
    const well = nodes(20, false, {});
    expect(causesOf([...well, ...nodes(3, true, { image: "ami-2" })])).toEqual([
      "image ami-2: 3 of 3",
    ]);
    expect(causesOf([...well, ...nodes(4, true, { type: "p5.48xlarge" })])).toEqual([
      "instance type p5.48xlarge: 4 of 4",
    ]);
    const zone = [...nodes(5, true, { zone: "b" }), ...nodes(2, false, { zone: "b" })];
    expect(causesOf([...well, ...zone])).toEqual(["zone b: 5 of 7"]);
  });

  it("names the cause first that has the larger share of unhealthy nodes", () => {
    const well = nodes(40, false, {});
    const image = nodes(3, true, { image: "ami-2" });
    const zone = [...nodes(4, true, { zone: "b" }), ...nodes(2, false, { zone: "b" })];
    const both = ["image ami-2: 3 of 3", "zone b: 4 of 6"];
    expect(causesOf([...well, ...image, ...zone])).toEqual(both);
    expect(causesOf([...well, ...zone, ...image])).toEqual(both);
  });

  it("names the cause of the most unhealthy nodes first, if the shares are equal", () => {
    const well = nodes(40, false, {});
    const image = nodes(3, true, { image: "ami-2" });
    const zone = nodes(4, true, { zone: "b" });
    const both = ["zone b: 4 of 4", "image ami-2: 3 of 3"];
    expect(causesOf([...well, ...image, ...zone])).toEqual(both);
    expect(causesOf([...well, ...zone, ...image])).toEqual(both);
  });

  it("names no cause for too few nodes, for half of a group, or if other nodes fail as well", () => {
    const well = nodes(20, false, {});
    const other = { image: "ami-2" };
    expect(causesOf([...well, ...nodes(2, true, other)])).toEqual([]);
    expect(causesOf([...well, ...nodes(3, true, other), ...nodes(3, false, other)])).toEqual([]);
    expect(causesOf(nodes(9, true, {}))).toEqual([]);
    const everywhere = [...nodes(6, true, {}), ...nodes(14, false, {})];
    expect(causesOf([...everywhere, ...nodes(3, true, other)])).toEqual([]);
  });

  it("blocks nodes of the cause and of a pool with too many unhealthy nodes, and names both", () => {
    const [broken = nodes(0, true, {})[0] as NodeView, ...more] = nodes(3, true, {
      image: "ami-2",
    });
    const apart = nodes(1, true, { pool: "q" })[0] as NodeView;
    const views = [
      broken,
      ...more,
      apart,
      ...nodes(7, false, {}),
      ...nodes(9, false, { pool: "q" }),
    ];
    const found = atOnce(survey(views, POLICIES));
    expect(stopsFor(broken, "p", found)).toEqual([
      'more than 20% of nodes in nodepool "p" are unhealthy',
      "3 of 3 nodes with image ami-2 are unhealthy, at least 4 times the share of other nodes: image ami-2 is the likely cause, and replacements would break as well; mend it, or take it out of the NodePool",
    ]);
    expect(stopsFor(apart, "q", found)).toEqual([]);
    expect(causeOf(apart, found.causes)).toBeUndefined();
  });
});

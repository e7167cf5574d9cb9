import { describe, expect, it } from "vitest";
import { Random } from "../../base/random.ts";
import { atOnce } from "../../base/steps.ts";
import { nodeClaim, nodeView, pod } from "../../testing/builders.ts";
import type { NodeView } from "../state/node-view.ts";
import { countNodes } from "./node-counts.ts";

const NAMES = Array.from({ length: 40 }, (_, index) => `n${String(index).padStart(2, "0")}`);

describe("node counts", () => {
  it("are the same whether all nodes are counted or only changed ones", () => {
    const random = new Random("tally");
    let alpha = 0;
    let before = NAMES.slice(0, 30).map((name) => drawn(name, random));
    atOnce(countNodes(before));
    for (let round = 0; round < 200; round++) {
      const now = changed(before, random);
      const followed = atOnce(countNodes(now, before));
      const { all, byPool, usedAlpha } = atOnce(countNodes([...now]));
      expect(followed.all).toEqual(all);
      expect([...followed.byPool].filter(([, { nodes }]) => nodes > 0).sort()).toEqual(
        [...byPool].sort(),
      );
      expect(namesOf(followed.usedAlpha)).toEqual(namesOf(usedAlpha));
      alpha += usedAlpha.size;
      before = now;
    }
    expect(alpha).toBeGreaterThan(0);
  });

  it("read only the nodes that changed since the previous count", () => {
    const [a, b, c] = ["a", "b", "c"].map((name) => drawn(name, new Random(name)));
    let asked = 0;
    const watched = {
      ...(a as NodeView),
      get managed() {
        asked++;
        return true;
      },
    };
    const before = [watched, b as NodeView];
    atOnce(countNodes(before));
    asked = 0;
    expect(countNodes([watched, c as NodeView], before).next().done).toBe(true);
    expect(asked).toBe(0);
  });
});

function namesOf(views: Iterable<NodeView>): readonly string[] {
  return [...views].map(({ name }) => name).sort();
}

/** The nodes after some were added, removed or changed. */
function changed(nodes: readonly NodeView[], random: Random): NodeView[] {
  const known = new Map(nodes.map((one) => [one.name, one]));
  return NAMES.flatMap((name) => {
    const one = known.get(name);
    const fate = random.int(10);
    if (fate === 0) return [];
    if (fate === 1) return [drawn(name, random)];
    return one ?? [];
  });
}

function drawn(name: string, random: Random): NodeView {
  const isAlpha = random.int(3) === 0;
  const key = isAlpha ? "karpenter.sh/provisioner-name" : "karpenter.sh/nodepool";
  const ready = random.int(3) === 0 ? ("False" as const) : ("True" as const);
  const made = nodeClaim({ name, status: { providerID: `test://${name}`, nodeName: name } });
  const claim = isAlpha ? { ...made, kind: "Machine", apiVersion: "karpenter.sh/v1alpha5" } : made;
  const view = nodeView({
    node: {
      name,
      labels: {
        [key]: random.int(2) === 0 ? "default" : "other",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": random.int(4) === 0 ? "false" : "true",
      },
    },
    claim,
    pods: random.int(2) === 0 ? [] : [pod({ name: `${name}-pod`, nodeName: name })],
    deleting: random.int(4) === 0,
  });
  const conditions = [{ type: "Ready", status: ready }];
  return { ...view, node: { ...view.node, status: { conditions } } as NodeView["node"] };
}

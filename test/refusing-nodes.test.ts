/**
 * Another program labels or taints each Node after its launch, so that it refuses the pods that it was planned for. No
 * node is bought in a loop, and the pods are told what they wait for.
 */
import { expect, it } from "vitest";
import type { Event } from "../src/apis/core/kinds.ts";
import { NODE, type Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import type { Kind } from "../src/apis/meta.ts";
import { openWorld, type TestWorld } from "./world.ts";

/** The startup taint keeps pods away until the other program has changed the Node. */
const CLUSTER = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
spec: {}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    metadata: {labels: {team: a}}
    spec:
      startupTaints: [{key: wait, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
  disruption: {consolidateAfter: Never}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {team: a}
      containers: [{name: c, image: pause, resources: {requests: {cpu: 500m}}}]
`;

const STEP_MS = 2_000;
interface Change {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly effect: string }[];
}
const STRANGERS: Readonly<Record<"label" | "taint", Change>> = {
  label: { labels: { team: "b" }, taints: [] },
  taint: { labels: { team: "a" }, taints: [{ key: "stranger", effect: "NoSchedule" }] },
};

/** The program changes each registered Node once. */
async function change(world: TestWorld, done: Set<string>, as: Change) {
  for (const { metadata } of await world.list<Node>("Node", "v1", "karpenter.sh/registered")) {
    if (done.has(metadata.name)) continue;
    done.add(metadata.name);
    const body = { metadata: { labels: as.labels }, spec: { taints: as.taints } };
    await world.client.patch(NODE as Kind, { name: metadata.name }, { type: "merge", body });
  }
}

it.each(["label", "taint"] as const)(
  "pods whose nodes refuse them by a %s get few nodes, and are told why",
  async (what) => {
    const world = await openWorld({ provider: "kwok" });
    try {
      await world.apply(CLUSTER);
      const bought = new Set<string>();
      for (let ms = 0; ms < 180_000; ms += STEP_MS) {
        await change(world, bought, STRANGERS[what]);
        await world.advance(STEP_MS);
      }
      // The first two at once, the third after a minute, the next after two more.
      expect(bought.size).toBe(3);
      const events = await world.list<Event>("Event", "v1");
      const lost = events.filter(({ reason }) => reason === "PlannedNodeLost");
      expect(lost.at(-1)?.message).toMatch(/refused it, so none is launched before 2026-/);
      // A node that takes the pods ends the wait.
      const [first = ""] = bought;
      const body = { metadata: { labels: { team: "a" } }, spec: { taints: [] } };
      await world.client.patch(NODE as Kind, { name: first }, { type: "merge", body });
      await world.until("both pods run", async () =>
        (await world.list<Pod>("Pod", "v1", "app=web")).every(
          ({ status }) => status?.phase === "Running",
        ),
      );
    } finally {
      await world.close();
    }
  },
);

/** The API server's versions go back, as after a restore of etcd, while a node waits for its replacement. */
import { describe, expect, it } from "vitest";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { Mirrors } from "../../kube/mirror/mirror.ts";
import { nodePool, pod } from "../../testing/builders.ts";
import { establish, FAKE_CLASS_REF } from "../../testing/established.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

const MINUTE_MS = 60_000;

describe("a drifted node while versions of the API server are set back", () => {
  it("gets no replacement, which could not replace it, until versions are higher again", async () => {
    const world = fakeWorld();
    const { mirrors } = world;
    const viewOf = mirrors.viewOf.bind(mirrors);
    let isSetBack = true;
    let tell = (): void => undefined;
    Object.assign(mirrors, {
      viewOf: (kind) => (isSetBack ? "setBack" : viewOf(kind)),
      setBack: () => (isSetBack ? [{ kind: "Node", sinceMs: 0 }] : []),
      onSetBack: (listener) => {
        tell = listener;
        return () => undefined;
      },
    } satisfies Partial<Mirrors>);
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
    const zone = {
      key: "topology.kubernetes.io/zone",
      operator: "In",
      values: ["zone-b"],
    } as const;
    const template = { nodeClassRef: FAKE_CLASS_REF, requirements: [zone] };
    await world.api.create(NODE_POOL, nodePool({ template }));
    await establish(world, "a", MINUTE_MS);
    const owner = { kind: "ReplicaSet", name: "r" };
    await world.api.create(POD, pod({ name: "runs", nodeName: "a", owner }));
    await world.run(...allControllers(world));
    const names = () => world.api.all(NODE_CLAIM).map(({ metadata }) => metadata.name);
    await world.clock.advance(10 * MINUTE_MS);
    expect(names()).toEqual(["a"]);
    expect([...world.cloud.instances.keys()]).toEqual(["test://a"]);
    isSetBack = false;
    tell();
    await world.clock.advance(2 * MINUTE_MS);
    expect(names().length).toBe(2);
    await world.stop();
  });
});

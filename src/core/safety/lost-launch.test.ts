import { describe, expect, it } from "vitest";
import { CLUSTER_UID_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { node, nodeClaim } from "../../testing/builders.ts";
import { type LostLaunchFacts, lostLaunch, unnamedInstances } from "./lost-launch.ts";

const CREATED = Date.UTC(2026, 0, 5, 12);
const DELETED = CREATED + 600_000;
const time = (ms: number) => new Date(ms).toISOString();

/** An instance of this cluster. It was launched `afterMs` milliseconds after the creation of the claim. */
function instance(name: string, afterMs: number, metadata: Partial<NodeClaim["metadata"]> = {}) {
  const creationTimestamp = time(CREATED + afterMs);
  const annotations = { [CLUSTER_UID_KEY]: "us" };
  return nodeClaim({ name, metadata: { creationTimestamp, annotations, ...metadata } });
}

function claim(name: string, atMs: number, metadata: Partial<NodeClaim["metadata"]> = {}) {
  return nodeClaim({
    name,
    metadata: { creationTimestamp: time(atMs), ...metadata },
    status: {},
  });
}

const lost = claim("lost", CREATED, { deletionTimestamp: time(DELETED) });

function found(facts: Partial<LostLaunchFacts>, of = lost) {
  const none = { claims: [lost], instances: [], nodes: [], clusterUid: "us" };
  const launch = lostLaunch(of, { ...none, ...facts });
  return typeof launch === "string" ? launch : launch.providerId;
}

describe("the instance of a deleted NodeClaim without a provider ID", () => {
  it("is the oldest instance without a NodeClaim from the lifetime of the claim", () => {
    expect(found({})).toBe("none");
    expect(found({ instances: [instance("b", 2_000), instance("a", 1_000)] })).toBe("test://a");
    const named = nodeClaim({ name: "a" });
    const instances = [instance("a", 1_000)];
    expect(found({ instances, claims: [lost, named] })).toBe("none");
    const ends = [instance("a", 1_000, { deletionTimestamp: time(CREATED) })];
    expect(found({ instances: ends })).toBe("none");
  });

  it("was launched between 5 s before the claim and a minute after its deletion", () => {
    const at = (ms: number) => found({ instances: [instance("a", ms)] });
    expect([-5_001, -5_000].map(at)).toEqual(["none", "test://a"]);
    expect([660_000, 660_001].map(at)).toEqual(["test://a", "none"]);
  });

  it("has the claim's NodePool and this cluster's UID", () => {
    const labels = { "karpenter.sh/nodepool": "other" };
    expect(found({ instances: [instance("a", 0, { labels })] })).toBe("none");
    const annotations = { [CLUSTER_UID_KEY]: "them" };
    expect(found({ instances: [instance("a", 0, { annotations })] })).toBe("none");
    const untagged = [instance("a", 0, { annotations: {} })];
    expect(found({ instances: untagged })).toBe("none");
    expect(found({ instances: untagged, nodes: [node({ name: "a" })] })).toBe("test://a");
  });

  it("has no Node that another NodeClaim owns", () => {
    const owned = (kind: string, name: string) => {
      const one = node({ name: "a" });
      const ownerReferences = [{ apiVersion: "karpenter.sh/v1", kind, name, uid: name }];
      return [{ ...one, metadata: { ...one.metadata, ownerReferences } }];
    };
    const instances = [instance("a", 0)];
    expect(found({ instances, nodes: owned("NodeClaim", "lost") })).toBe("test://a");
    expect(found({ instances, nodes: owned("NodeClaim", "other") })).toBe("none");
    expect(found({ instances, nodes: owned("Machine", "other") })).toBe("test://a");
  });

  it("is unsure while another NodeClaim of the pool has no instance yet", () => {
    const instances = [instance("a", 0)];
    const unsure = (other: NodeClaim) => found({ instances, claims: [lost, other] });
    expect(unsure(claim("other", CREATED + 5_000))).toBe("unsure");
    expect(unsure(claim("other", CREATED + 5_001))).toBe("test://a");
    const labels = { "karpenter.sh/nodepool": "elsewhere" };
    expect(unsure(claim("other", CREATED, { labels }))).toBe("test://a");
    expect(unsure(nodeClaim({ name: "launched" }))).toBe("test://a");
  });

  it("is none for a NodeClaim that is not deleted or has no pool", () => {
    const instances = [instance("a", 0)];
    expect(found({ instances }, claim("lost", CREATED))).toBe("none");
    const deletionTimestamp = time(DELETED);
    const labels = {};
    const unowned = [instance("a", 0, { labels })];
    const bare = claim("lost", CREATED, { deletionTimestamp, labels });
    expect(found({ instances: unowned }, bare)).toBe("none");
  });
});

describe("instances that no claim names", () => {
  it("of the same launch time are sorted by provider ID", () => {
    const instances = ["b", "a", "c"].map((name) => instance(name, 0));
    const names = unnamedInstances([], instances).map(({ metadata }) => metadata.name);
    expect(names).toEqual(["a", "b", "c"]);
  });
});

import { expect, it } from "vitest";
import { node, nodeClaim } from "../../testing/builders.ts";
import { createClusterState } from "./create-cluster-state.ts";

it("finds the NodeClaim of a node again, after a copy with the same provider ID is deleted", () => {
  const state = createClusterState();
  const status = { providerID: "fake:///1", nodeName: "n" };
  const owner = (): string | undefined => state.nodeOfInstance("fake:///1")?.claim?.metadata.name;
  state.updateNode(node({ name: "n", providerId: "fake:///1" }));
  state.updateClaim(nodeClaim({ name: "own", status }));
  state.updateClaim(nodeClaim({ name: "copy", status }));
  state.deleteClaim("copy", "NodeClaim");
  expect(owner()).toBe("own");
  state.updateClaim(nodeClaim({ name: "copy", status }));
  state.deleteClaim("own", "NodeClaim");
  expect(owner()).toBe("copy");
  state.deleteClaim("copy", "NodeClaim");
  expect(owner()).toBeUndefined();
});

it("finds the Node of a NodeClaim again, after a Node with the same provider ID is deleted", () => {
  const state = createClusterState();
  const claim = nodeClaim({ name: "own", status: { providerID: "fake:///1", nodeName: "n" } });
  const shown = () => state.nodes().map((view) => [view.name, view.claim?.metadata.name]);
  state.updateClaim(claim);
  state.updateNode(node({ name: "n", providerId: "fake:///1" }));
  state.updateNode(node({ name: "twin", providerId: "fake:///1" }));
  state.deleteNode("twin");
  expect(state.nodeOfInstance("fake:///1")?.name).toBe("n");
  expect(shown()).toEqual([["n", "own"]]);
  const isGoing = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  state.updateNode(node({ name: "twin", providerId: "fake:///1" }));
  expect(shown()).toEqual([
    ["n", "own"],
    ["twin", undefined],
  ]);
  expect(state.nodeOfInstance("fake:///1")?.name).toBe("n");
  state.updateClaim({ ...claim, metadata: { ...claim.metadata, ...isGoing } });
  expect(state.node("n")?.deleting).toBe(true);
  state.deleteNode("n");
  expect(shown()).toEqual([["twin", "own"]]);
});

it("keeps the Node of a NodeClaim when an older Node with the same provider ID is deleted", () => {
  const state = createClusterState();
  const providerId = "fake:///1";
  state.updateClaim(nodeClaim({ name: "own", status: { providerID: providerId } }));
  state.updateNode(node({ name: "old", providerId }));
  state.updateNode(node({ name: "new", providerId }));
  state.deleteNode("old");
  expect(state.nodeOfInstance(providerId)?.name).toBe("new");
  expect(state.nodeOfInstance(providerId)?.claim?.metadata.name).toBe("own");
});

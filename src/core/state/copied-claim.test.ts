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

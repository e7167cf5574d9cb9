import { describe, expect, it } from "vitest";
import type { SetId } from "../../scheduling/requirement-space.ts";
import type { NewNodeClaim } from "./new-nodeclaim.ts";
import { type ClaimAnswer, OpenClaims } from "./open-claims.ts";

type Planned = { id: number; set: number; pods: unknown[] };

/** Planned nodes without pods, one for each requirement set. */
function opened(...sets: readonly number[]) {
  const claims = new OpenClaims();
  const all = sets.map((set, id): Planned => ({ id, set, pods: [] }));
  for (const one of all) claims.open(one as unknown as NewNodeClaim);
  /** Places a pod on the node. The node then has the requirement set `set`. */
  const add = (id: number, set = all[id]?.set ?? 0) => {
    const one = all[id] as Planned;
    claims.moveUp(one as unknown as NewNodeClaim, set as SetId);
    one.set = set;
    one.pods.push({});
  };
  /** The ids of the nodes that are checked for a pod, until one takes it. */
  const asked = (answer: (id: number) => ClaimAnswer = () => "pass") => {
    const ids: number[] = [];
    claims.find([], ({ id }) => {
      ids.push(id);
      return answer(id);
    });
    return ids;
  };
  return { claims, add, asked };
}

describe("planned nodes are tried for a pod", () => {
  it("with the fewest pods first, then in the order of opening", () => {
    const { add, asked } = opened(1, 1, 1);
    expect(asked()).toEqual([0, 1, 2]);
    add(0);
    add(1);
    add(1);
    expect(asked()).toEqual([2, 0, 1]);
    add(2);
    add(2);
    add(2);
    expect(asked()).toEqual([0, 1, 2]);
  });

  it("until one of them takes it", () => {
    const { claims, asked } = opened(1, 1, 1);
    expect(asked((id) => (id === 1 ? "take" : "pass"))).toEqual([0, 1]);
    expect(claims.find([], ({ id }) => (id === 1 ? "take" : "pass"))?.id).toBe(1);
    expect(claims.asked).toBe(4);
    expect(new OpenClaims().find([], () => "take")).toBeUndefined();
  });

  it("but not if a node with the same requirements has already refused the pod", () => {
    const { add, asked } = opened(1, 2, 1, 2);
    const none = (id: number): ClaimAnswer => (id === 0 ? "noneLikeIt" : "pass");
    expect(asked(none)).toEqual([0, 1, 3]);
    // Node 2 now has its own requirements, and node 3 has the same requirements as node 0.
    add(2, 3);
    add(3, 1);
    expect(asked(none)).toEqual([0, 1, 2]);
  });
});

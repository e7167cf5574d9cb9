import { describe, expect, it } from "vitest";
import { nodeView } from "./node-view.ts";
import { ViewNotes } from "./view-notes.ts";

const view = () =>
  nodeView({
    node: { metadata: { name: "a" } },
    claim: undefined,
    pods: [],
    marked: false,
    nominatedUntilMs: 0,
  });

describe("notes of a node's view", () => {
  it("are stored by kind, and are not part of copies and comparisons", () => {
    const [sizes, names] = [new ViewNotes<number>(), new ViewNotes<string>()];
    const one = view();
    expect(sizes.get(one)).toBe(undefined);
    sizes.set(one, 7);
    names.set(one, "a");
    sizes.set(one, 8);
    expect([sizes.get(one), names.get(one)]).toEqual([8, "a"]);
    expect(sizes.get({ ...one })).toBe(undefined);
    expect(one).toEqual(view());
    expect(JSON.stringify(one)).toBe(JSON.stringify(view()));
  });
});

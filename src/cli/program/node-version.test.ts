import { expect, it } from "vitest";
import { nodeVersionNote } from "./node-version.ts";

it("a note recommends a maintained Node.js to users of an old one", () => {
  expect(nodeVersionNote("20.19.0")).toBe(
    "Node.js 20 gets no security fixes since 2026-04-30: run this with Node.js 24 or 26",
  );
});

it.each(["22.23.3", "24.21.0", "26.10.0"])("there is no note about Node.js %s", (version) => {
  expect(nodeVersionNote(version)).toBeUndefined();
});

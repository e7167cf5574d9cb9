import { describe, expect, it } from "vitest";
import { Parts } from "./parts.ts";

describe("the open parts of a command", () => {
  it("are closed once, the last one first, even if some fail to close", async () => {
    const closed: string[] = [];
    const failures: unknown[] = [];
    const parts = new Parts();
    parts.add(() => {
      closed.push("first");
    });
    parts.add(async () => {
      throw new Error("stuck");
    });
    parts.add(async () => {
      closed.push("last");
    });
    await Promise.all([parts.close((error) => failures.push(error)), parts.close(() => undefined)]);
    expect(closed).toEqual(["last", "first"]);
    expect(failures.map(String)).toEqual(["Error: stuck"]);
  });

  it("that hang while closing do not delay the command beyond its time", async () => {
    const parts = new Parts();
    parts.add(() => new Promise(() => undefined));
    await parts.close(() => undefined, 30);
  });

  it("of which one has a time limit of its own: after it, the others are closed", async () => {
    const closed: string[] = [];
    const parts = new Parts();
    parts.add(() => void closed.push("clock"));
    parts.add(() => new Promise(() => undefined), 30);
    await parts.close(() => undefined);
    expect(closed).toEqual(["clock"]);
  });
});

import { describe, expect, it } from "vitest";
import { patchText, type ViewPatch, written } from "./view.ts";

const view = (head: unknown, rows: Record<string, unknown>) =>
  written({ head, rows: new Map(Object.entries(rows)) });
const read = (text: string | undefined): ViewPatch | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as ViewPatch);

describe("a patch of a console view", () => {
  it("has the whole view for a page without data", () => {
    const patch = read(patchText(undefined, view({ n: 1 }, { a: { x: 1 } })));
    expect(patch).toEqual({ whole: true, head: { n: 1 }, set: { a: { x: 1 } }, del: [] });
  });

  it("has only rows that were added, changed or removed", () => {
    const before = view({ n: 1 }, { a: { x: 1 }, b: { x: 2 }, c: { x: 3 } });
    const after = view({ n: 1 }, { a: { x: 1 }, b: { x: 9 }, d: { x: 4 } });
    expect(read(patchText(before, after))).toEqual({
      set: { b: { x: 9 }, d: { x: 4 } },
      del: ["c"],
    });
  });

  it("does not exist if nothing changed", () => {
    expect(patchText(view(1, { a: 1 }), view(1, { a: 1 }))).toBeUndefined();
  });

  it("keeps hostile names as keys and texts", () => {
    const name = `"},"__proto__":{"x":1}</script>\u202e\u001b[31m`;
    const patch = read(patchText(undefined, view({}, { [name]: { says: name } })));
    expect(Object.keys(patch?.set ?? {})).toEqual([name]);
    expect(patch?.set[name]).toEqual({ says: name });
  });

  it("brings a page to the last view, if all patches are applied in order", () => {
    let has: Record<string, unknown> = {};
    let before: ReturnType<typeof view> | undefined;
    for (let at = 0; at < 50; at++) {
      const rows = Object.fromEntries(
        [0, 1, 2, 3, 4, 5]
          .filter((n) => (at * 7 + n) % 3 > 0)
          .map((n) => [`n${n}`, { x: (at >> n) % 4 }]),
      );
      const after = view(at >> 2, rows);
      const patch = read(patchText(before, after));
      if (patch !== undefined) {
        has = { ...(patch.whole ? {} : has), ...patch.set };
        for (const key of patch.del) delete has[key];
      }
      expect(has).toEqual(rows);
      before = after;
    }
  });
});

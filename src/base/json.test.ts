import { describe, expect, it } from "vitest";
import { applyMergePatch, clone, createMergePatch, deepEqual, fieldOf, sharing } from "./json.ts";

/** Names that every object inherits. Assigning to `__proto__` would even change what an object inherits. */
const NAMES = ["__proto__", "constructor", "hasOwnProperty", "toString"];

describe("fields named like inherited properties", () => {
  it.each(NAMES)("%s is copied, merged and compared like any other", (name) => {
    const value = JSON.parse(`{"${name}":{"a":1},"b":2}`) as Record<string, unknown>;
    for (const copy of [
      clone(value),
      applyMergePatch({}, value),
      applyMergePatch({ b: 2 }, value),
    ]) {
      expect(JSON.stringify(copy)).toContain(`"${name}":{"a":1}`);
      expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
      expect(deepEqual(copy, value)).toBe(true);
    }
    expect(deepEqual(value, { b: 2 })).toBe(false);
    expect(deepEqual({ b: 2 }, value)).toBe(false);
    expect(deepEqual(JSON.parse(`{"${name}":{}}`), {})).toBe(false);
    expect(deepEqual(JSON.parse(`{"${name}":{}}`), { x: 1 })).toBe(false);
    expect(fieldOf({}, name)).toBeUndefined();
    const patch = createMergePatch({ b: 2 }, value);
    expect(JSON.stringify(patch)).toBe(`{"${name}":{"a":1}}`);
    expect(JSON.stringify(createMergePatch(value, { b: 2 }))).toBe(`{"${name}":null}`);
    expect(JSON.stringify(applyMergePatch({ b: 2 }, patch))).toContain(name);
  });

  it("do not change a prototype when they are merged", () => {
    applyMergePatch(
      {},
      JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
    );
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe("sharing", () => {
  const known = { a: { b: [1, { c: 2 }] }, d: { e: 3 } };

  it("returns the known value if both are equal, whatever the order of the fields", () => {
    expect(sharing({ d: { e: 3 }, a: { b: [1, { c: 2 }] } }, known)).toBe(known);
    expect(sharing({ ...clone(known), f: undefined }, known)).toBe(known);
    expect(sharing([], known)).toEqual([]);
    expect(sharing({}, [])).toEqual({});
  });

  it("takes equal parts from the known value, and changes neither value", () => {
    const value = { a: { b: [1, { c: 2 }, 3] }, d: { e: 3 }, f: null };
    const before = clone(value);
    const shared = sharing(value, known);
    expect(shared).toEqual(before);
    expect(shared.d).toBe(known.d);
    expect(shared.a.b[1]).toBe(known.a.b[1]);
    expect(value).toEqual(before);
    expect(known).toEqual({ a: { b: [1, { c: 2 }] }, d: { e: 3 } });
  });

  it("keeps a value that lacks a field of the known one", () => {
    expect(sharing({ d: { e: 3 } }, known)).toEqual({ d: { e: 3 } });
    expect(sharing({ a: { b: [1] } }, known)).toEqual({ a: { b: [1] } });
    expect(sharing(JSON.parse('{"__proto__":{}}'), {})).toEqual(JSON.parse('{"__proto__":{}}'));
  });
});

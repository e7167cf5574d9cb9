import { describe, expect, it } from "vitest";
import { applyMergePatch, clone, createMergePatch, deepEqual, fieldOf } from "./json.ts";

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

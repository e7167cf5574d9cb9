/** The cost of one patch: copies are limited, and long lists take time in proportion to their length. */
import { describe, expect, it } from "vitest";
import type { Schema } from "../schema/schema.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { applyStrategicPatch } from "./strategic.ts";
import { duplicateKey, fieldsOf, merge, without } from "./typed-value.ts";

it("a patch that doubles an object again and again is refused", () => {
  const copies = Array.from({ length: 40 }, (_, at) => ({
    op: "copy",
    from: "/d",
    path: `/d/k${at}`,
  }));
  expect(() => applyJsonPatch({ d: { a: "x" } }, copies)).toThrow(
    /accumulated size increase of copy is \d+, exceeding the limit 3145728/,
  );
});

describe("a list of 40,000 items", () => {
  const LENGTH = 40_000;
  const names = Array.from({ length: LENGTH }, (_, at) => ({ name: `n${at}`, value: "a" }));
  const list: Schema = {
    type: "array",
    items: { type: "object", properties: { name: { type: "string" }, value: { type: "string" } } },
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "name",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
  };
  const schema: Schema = { type: "object", properties: { list } };
  // With an algorithm of quadratic time, each of these patches would take more than ten seconds.
  const LIMIT_MS = 15_000;

  it("is merged, reordered and shortened by a strategic patch in linear time", {
    timeout: LIMIT_MS,
  }, () => {
    const patch = names.toReversed().map(({ name }) => ({ name, value: "b" }));
    const order = patch.map(({ name }) => ({ name }));
    const merged = applyStrategicPatch(
      { list: names },
      { list: patch, "$setElementOrder/list": order },
      schema,
    ) as { list: typeof names };
    expect(merged.list).toHaveLength(LENGTH);
    expect(merged.list[0]).toEqual({ name: `n${LENGTH - 1}`, value: "b" });
    const gone = names.slice(1).map(({ name }) => ({ name, $patch: "delete" }));
    expect(applyStrategicPatch({ list: names }, { list: gone }, schema)).toEqual({
      list: [names[0]],
    });
    const added = names.map(({ name }) => ({ name: `${name}-b`, value: "c" }));
    const both = applyStrategicPatch({ list: names }, { list: added }, schema) as {
      list: typeof names;
    };
    expect(both.list).toHaveLength(2 * LENGTH);
  });

  it("of plain values is also merged by a strategic patch in linear time", {
    timeout: LIMIT_MS,
  }, () => {
    const plain: Schema = { type: "array", "x-kubernetes-patch-strategy": "merge" };
    const values = names.map(({ name }) => name);
    const patch = { list: values.toReversed() };
    const kind: Schema = { type: "object", properties: { list: plain } };
    expect(applyStrategicPatch({ list: values }, patch, kind)).toEqual({ list: values });
    const removed = { "$deleteFromPrimitiveList/list": values.slice(1) };
    expect(applyStrategicPatch({ list: values }, removed, kind)).toEqual({ list: ["n0"] });
  });

  it("is applied by server-side apply in linear time", { timeout: LIMIT_MS }, () => {
    const live = { list: names };
    const config = { list: names.toReversed() };
    expect(duplicateKey(config, schema)).toBeUndefined();
    const merged = merge(live, config, schema) as { list: typeof names };
    expect(merged.list[0]?.name).toBe(`n${LENGTH - 1}`);
    expect(without(merged, fieldsOf(config, schema), schema)).toBeUndefined();
  });
});

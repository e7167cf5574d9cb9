import { describe, expect, it } from "vitest";
import { selectorQueries } from "./filters.ts";

function show(terms: Parameters<typeof selectorQueries>[0]): string[] {
  return selectorQueries(terms, { idFilter: "group-id", nameFilter: "group-name" }).map(
    ({ Filters: filters }) =>
      filters.map(({ Name, Values }) => `${Name}=${Values.join("|")}`).join(" & "),
  );
}

describe("selector terms as EC2 filters", () => {
  it("S2-26 are ORed as queries, and the tags of one term are ANDed as filters", () => {
    expect(show([{ tags: { b: "2", a: "1" } }, { tags: { c: "*" } }])).toEqual([
      "tag:a=1 & tag:b=2",
      "tag-key=c",
    ]);
  });

  it("share one query if they have only ids, or only names", () => {
    expect(show([{ id: "sg-2" }, { name: "n" }, { id: "sg-1" }])).toEqual([
      "group-id=sg-1|sg-2",
      "group-name=n",
    ]);
  });

  it("S0-06 with an id and tags stay one query, as v1alpha1 selectors need it", () => {
    expect(show([{ id: "sg-1", tags: { a: "x*" } }])).toEqual(["group-id=sg-1 & tag:a=x*"]);
  });

  it("without any field select nothing", () => {
    expect(show([{}])).toEqual([]);
  });
});

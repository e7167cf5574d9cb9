/** The state of the page: view, selection, filter, grouping. It is part of the URL, so that a link shows the same. */
import { signal } from "@preact/signals";

export const PAGES = ["map", "money", "decisions", "waiting", "pools", "health", "whatif"] as const;
export type Page = (typeof PAGES)[number];

export const GROUPINGS = ["pool", "zone", "type", "capacity", "state"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export const FILLS = ["cpu", "memory", "pool", "capacity", "zone", "held"] as const;
export type Fill = (typeof FILLS)[number];

export interface Place {
  readonly view: Page;
  readonly filter: string;
  /**
   * The chosen object: `node/NAME`, `pod/NAMESPACE/NAME`, `nodepool/NAME`, or `group/KEY` of a map of groups.
   * "": none.
   */
  readonly about: string;
  readonly group: Grouping;
  readonly fill: Fill;
  readonly asTable: boolean;
}

const FIRST: Place = {
  view: "map",
  filter: "",
  about: "",
  group: "pool",
  fill: "cpu",
  asTable: false,
};

export const place = signal<Place>(read());

addEventListener("hashchange", () => {
  place.value = read();
});

export function go(change: Partial<Place>): void {
  const before = place.value;
  const next = { ...before, ...change };
  place.value = next;
  const query = new URLSearchParams();
  for (const key of ["filter", "about", "group", "fill"] as const)
    if (next[key] !== FIRST[key]) query.set(key, next[key]);
  if (next.asTable) query.set("table", "");
  const text = query.toString();
  const hash = `#${next.view}${text === "" ? "" : `?${text}`}`;
  // A change of the filter alone adds no entry to the browser's history.
  if (next.view !== before.view || next.about !== before.about) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}

addEventListener("popstate", () => {
  place.value = read();
});

function read(): Place {
  const [view = "", text = ""] = location.hash.slice(1).split("?");
  const query = new URLSearchParams(text);
  return {
    view: oneOf(PAGES, view, FIRST.view),
    filter: query.get("filter") ?? "",
    about: query.get("about") ?? "",
    group: oneOf(GROUPINGS, query.get("group"), FIRST.group),
    fill: oneOf(FILLS, query.get("fill"), FIRST.fill),
    asTable: query.has("table"),
  };
}

function oneOf<T extends string>(known: readonly T[], text: string | null, other: T): T {
  return known.find((one) => one === text) ?? other;
}

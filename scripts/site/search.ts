/** Asks the search index of a built site, as the site's own search box does. */
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { SEARCH } from "../../site/.vitepress/search-options.ts";
import type { SiteQuestion } from "./questions.ts";

/** How many hits count: a reader looks at the first few only. */
const LOOKED_AT = 3;

/** One hit: a section of a page. */
export interface Hit {
  /** The section's address: `/0.1.0/guide/install.html#the-crds`. */
  readonly place: string;
  readonly heading: string;
}

/** A question with its hits. */
export interface AskedQuestion extends SiteQuestion {
  readonly hits: readonly Hit[];
  /** Position of the first right hit, from 1. Undefined: it is not among the hits that count. */
  readonly rank: number | undefined;
}

interface Index {
  search(text: string): readonly { id: string; title: string; titles: readonly string[] }[];
}

type MiniSearch = { loadJSON(json: string, options: object): Index };

/** Opens the search index of the pages in `dist`, with the library of the site's workspace. */
export async function openSearch(
  site: string,
  dist: string,
): Promise<(typed: string) => readonly Hit[]> {
  const library = createRequire(join(site, "package.json"))("minisearch") as MiniSearch;
  // The options of the site's own search box. upstream: vitepress,
  // src/client/theme-default/components/VPLocalSearchBox.vue
  const index = library.loadJSON(await indexIn(dist), {
    fields: ["title", "titles", "text"],
    storeFields: ["title", "titles"],
    ...SEARCH.options,
    searchOptions: SEARCH.searchOptions,
  });
  return (typed) =>
    index.search(typed).map(({ id, title, titles }) => ({
      place: id,
      heading: [...titles, title].join(" > "),
    }));
}

async function indexIn(dist: string): Promise<string> {
  const folder = join(dist, "assets/chunks");
  const name = readdirSync(folder).find((one) => one.startsWith("@localSearchIndexroot"));
  if (name === undefined) throw new Error(`${folder} has no search index: build the site first`);
  const { default: index } = (await import(pathToFileURL(join(folder, name)).href)) as {
    readonly default: string;
  };
  return index;
}

/** Searches for a question. Its rank is that of the first hit on a page that answers it. */
export function ask(
  search: (typed: string) => readonly Hit[],
  question: SiteQuestion,
): AskedQuestion {
  const hits = search(question.typed).slice(0, LOOKED_AT);
  const at = hits.findIndex(({ place }) =>
    question.pages.some((page) => place.split("#")[0]?.endsWith(`/${page}.html`)),
  );
  return { ...question, hits, rank: at < 0 ? undefined : at + 1 };
}

/**
 * Checks of the documentation site without building it: its versions, and questions with the pages that answer them.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deadLinksIn, deadLinksOf } from "../scripts/site/links.ts";
import { QUESTIONS } from "../scripts/site/questions.ts";
import { ask, type Hit } from "../scripts/site/search.ts";
import { firstPage, taggedVersions, versionsIn } from "../scripts/site/versions.ts";
import { searchWeight, searchWord } from "../site/.vitepress/search-options.ts";
import { temporaryFolders } from "../src/testing/temporary-folder.ts";
import { ROOT } from "./tidy/sources.ts";

const PAGE = '<h1 id="a b">A</h1><a href="/site/guide/b.html#x">b</a><img src="/site/picture.png">';

const newFolder = temporaryFolders("site-");

/** Built pages in a folder. */
function built(pages: Readonly<Record<string, string>>): string {
  const folder = newFolder();
  mkdirSync(join(folder, "guide"));
  for (const [name, text] of Object.entries(pages)) writeFileSync(join(folder, name), text);
  return folder;
}

describe("links of the site", () => {
  const whole = {
    "index.html": PAGE,
    "picture.png": "",
    "guide/b.html":
      '<h2 id="x">B</h2><a href="../index.html#a%20b">a</a><a href="https://x.y/z">z</a><a href="#x">x</a>',
  };

  it("are right if page, picture and anchor exist, and if they lead elsewhere", () => {
    expect(deadLinksIn(built(whole), "/site/")).toEqual([]);
  });

  it.each([
    ["a page", '<a href="/site/guide/c.html">c</a>'],
    ["a page beside the site", '<a href="/guide/b.html">b</a>'],
    ["an anchor of another page", '<a href="b.html#y">y</a>'],
    ["an anchor of its own", '<a href="#y">y</a>'],
    ["a picture", '<img alt="" src="none.png">'],
  ])("are named if they miss %s", (_what, link) => {
    const dead = deadLinksIn(
      built({ ...whole, "guide/d.html": `${link}${whole["guide/b.html"]}` }),
      "/site/",
    );
    expect(dead).toEqual([`guide/d.html: ${/"([^"]+)">/.exec(link)?.[1]}`]);
  });

  it("are named where a written page misses a file or a heading", () => {
    const folder = built({
      "guide/a.md":
        "# A b\n[here](#a-b) [there](../c.md#d) [file](../deploy/x) `[no](link)`\n```\n[no](link)\n```\n",
      "c.md": "# C",
    });
    expect(deadLinksOf(folder, "guide/a.md")).toEqual(["c.md#d", "deploy/x"]);
  });
});

describe("the documentation site", () => {
  it("lists its versions, newest first", () => {
    expect(versionsIn(["0.9.0", "0.10.0", "assets", "0.10.2", "1.0"])).toEqual([
      "0.10.2",
      "0.10.0",
      "0.9.0",
    ]);
    expect(taggedVersions(["v0.1.0", "0.2.0", "v0.2.0-rc.1", "v0.3.0"])).toEqual([
      "0.3.0",
      "0.1.0",
    ]);
  });

  it("opens with a page that redirects to the newest version, at any base path", () => {
    expect(firstPage("0.3.0")).toContain('url=./0.3.0/"');
  });

  it("has for each test question pages that exist", () => {
    expect(new Set(QUESTIONS.map(({ typed }) => typed)).size).toBe(QUESTIONS.length);
    expect(QUESTIONS.length).toBeGreaterThanOrEqual(74);
    const missing = QUESTIONS.flatMap(({ pages }) => pages).filter(
      (page) => !existsSync(join(ROOT, "docs", `${page}.md`)),
    );
    expect(missing).toEqual([]);
  });

  it("answers a test question if one of its pages is among the first three hits", () => {
    const hit = (place: string): Hit => ({ place, heading: place });
    const found = ["/0.1.0/a.html#x", "/0.1.0/guide/b.html", "/0.1.0/guide/c.html", "/d.html"].map(
      hit,
    );
    const rank = (page: string) => ask(() => found, { typed: "?", pages: [page] }).rank;
    expect([rank("guide/b"), rank("guide/c"), rank("d"), rank("b/guide")]).toEqual([
      2,
      3,
      undefined,
      undefined,
    ]);
  });

  it("searches for word stems, and ignores common words such as `how do I`", () => {
    const words = "How do I keep a node from being disrupted".split(" ").map(searchWord);
    expect(words.filter((word) => word !== null)).toEqual(["keep", "node", "disrupt"]);
    expect(searchWord("disruptions")).toBe(searchWord("disrupted"));
    expect(searchWeight("/0.1.0/start/faq.html#x")).toBeGreaterThan(
      searchWeight("/0.1.0/reference/chart.html#x"),
    );
  });

  it("sends its search to the browser as self-contained functions", () => {
    const alone = new Function(`return (${searchWord})("Evictions") + (${searchWeight})("/a")`);
    expect(alone()).toBe("evict1");
  });
});

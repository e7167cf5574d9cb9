/**
 * Finds links that lead nowhere: in the pages as they are written (to files of the repository and to headings), and in
 * the built pages of the site (to pages, pictures and headings).
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** The links of a Markdown page that lead to no file below `root`, or to no heading of that file. */
export function deadLinksOf(root: string, page: string): readonly string[] {
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const dead: string[] = [];
  const text = read(page)
    .replaceAll(/```[\s\S]*?```/g, "")
    .replaceAll(/`[^`\n]*`/g, "");
  for (const [, path = "", anchor] of text.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)) {
    const target = path === "" ? page : normalize(join(dirname(page), path));
    if (!existsSync(join(root, target))) dead.push(target);
    else if (anchor !== undefined && !anchorsOf(read(target)).includes(anchor))
      dead.push(`${target}#${anchor}`);
  }
  return dead;
}

/** The anchors of a page's headings, by GitHub's rule. */
function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\d\s_-]/gu, "")
      .replaceAll(/\s/g, "-"),
  );
}

/**
 * The links of the built pages in `folder` that lead to no file or to no anchor. `base` is the path of the folder
 * on its server, such as `/0.1.0/`.
 */
export function deadLinksIn(folder: string, base: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const pages = new Map(
    files
      .filter((file) => file.endsWith(".html"))
      .map((file) => [file, readFileSync(join(folder, file), "utf8")]),
  );
  const known = new Set(files);
  const dead: string[] = [];
  for (const [page, html] of pages)
    for (const link of linksOf(html)) {
      const at = new URL(link, `https://site.invalid${base}${page}`);
      if (at.host !== "site.invalid" || !at.protocol.startsWith("http")) continue;
      const inBase = at.pathname.startsWith(base);
      const path = decodeURIComponent(at.pathname.slice(base.length));
      const target = path === "" || path.endsWith("/") ? `${path}index.html` : path;
      const anchor = decodeURIComponent(at.hash.slice(1));
      const isThere = inBase && known.has(target);
      const hasAnchor = anchor === "" || idsOf(pages.get(target) ?? "").has(anchor);
      if (!isThere || !hasAnchor) dead.push(`${page}: ${link}`);
    }
  return [...new Set(dead)].sort();
}

function linksOf(html: string): readonly string[] {
  const links = html.matchAll(/<(?:a|img|link|script)\s[^>]*?(?:href|src)="([^"]+)"/g);
  return [...links].map(([, link = ""]) => link.replaceAll("&amp;", "&"));
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => id));
}

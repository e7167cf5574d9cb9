/** The documentation site: every page of docs/ as it is there, with a side bar by folder and a search that is offline. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { withMermaid } from "vitepress-plugin-mermaid";
import { SEARCH } from "./search-options.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** The pages of another release, where scripts/site.ts builds that one. */
const DOCS = process.env["SITE_DOCS"] ?? join(ROOT, "docs");
const VERSION = process.env["SITE_VERSION"] ?? (readJson("package.json") as { version: string }).version;
/** A copy of docs/: pages must lie in this workspace to find its libraries. */
const PAGES = resolve(import.meta.dirname, "../pages");
rmSync(PAGES, { recursive: true, force: true });
cpSync(DOCS, PAGES, { recursive: true });

/** Where the built pages will lie on the server, as `/0.1.0/`: scripts/site.ts says it. */
const base = process.env["SITE_BASE"] ?? "/";

/** Folders of docs/ in the order in which a newcomer needs them. */
const ALL_PARTS = [
  { text: "Start", folder: "start" },
  { text: "Tasks", folder: "tasks" },
  { text: "Guides", folder: "guide" },
  { text: "Runbooks", folder: "runbooks" },
  { text: "Reference", folder: "reference" },
  { text: "How it works", folder: "explanation" },
  { text: "Designs", folder: "designs" },
] as const;
/** An older release may lack a folder. */
const PARTS = ALL_PARTS.filter(({ folder }) => existsSync(join(DOCS, folder)));

export default withMermaid({
  title: "Karpenter in TypeScript",
  description: "Just-in-time nodes for Kubernetes",
  srcDir: "pages",
  outDir: process.env["SITE_OUT"] ?? resolve(import.meta.dirname, "dist"),
  base,
  rewrites: { ":folder/README.md": ":folder/index.md" },
  cleanUrls: false,
  lastUpdated: false,
  markdown: {
    // `<name>` in a sentence is text.
    html: false,
    config: (md) => md.use(linksOut).use(plainMustaches),
  },
  themeConfig: {
    nav: [
      { text: "Start", link: "/start/five-minutes" },
      ...(existsSync(join(DOCS, "tasks/README.md")) ? [{ text: "Tasks", link: "/tasks/" }] : []),
      ...(existsSync(join(DOCS, "start/faq.md")) ? [{ text: "Questions", link: "/start/faq" }] : []),
      { text: "Reference", link: "/reference/settings" },
      { component: "VersionSwitch", props: { version: VERSION } },
    ],
    sidebar: PARTS.map(({ text, folder }) => ({
      text,
      collapsed: folder !== "start" && folder !== "tasks",
      items: pagesOf(folder),
    })),
    outline: [2, 3],
    search: { provider: "local", options: { miniSearch: SEARCH } },
  },
  // At its own size, so that a wide picture can be read on a phone.
  mermaid: { flowchart: { useMaxWidth: false } },
});

function pagesOf(folder: string): { text: string; link: string }[] {
  const names = readdirSync(join(DOCS, folder))
    .filter((name) => name.endsWith(".md"))
    .sort();
  const first = names.filter((name) => name === "README.md" || name === "five-minutes.md");
  return [...first, ...names.filter((name) => !first.includes(name))].map((name) => ({
    text: titleOf(join(DOCS, folder, name)),
    link: name === "README.md" ? `/${folder}/` : `/${folder}/${basename(name, ".md")}`,
  }));
}

function titleOf(file: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(file, "utf8"))?.[1] ?? basename(file, ".md");
  return heading.replace(/`/g, "");
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, file), "utf8"));
}

interface Token {
  readonly type: string;
  content: string;
  readonly children: readonly Token[] | null;
  attrGet(name: string): string | null;
  attrs: [string, string][] | null;
  tag: string;
}

interface MarkdownIt {
  readonly core: { readonly ruler: { push(name: string, rule: (state: State) => void): void } };
  readonly renderer: { readonly rules: Record<string, Rule | undefined> };
}

interface State {
  readonly tokens: readonly Token[];
}

type Rule = (tokens: readonly Token[], at: number) => string;

/** A link to a file that is no page of the site becomes the file's name: the repository has it. */
function linksOut(md: MarkdownIt): void {
  md.core.ruler.push("links-out", ({ tokens }) => {
    for (const { children } of tokens) {
      let isOut = false;
      for (const token of children ?? []) {
        // As `rewrites` above names the page.
        const href = token.attrs?.find(([name]) => name === "href");
        if (href !== undefined) href[1] = href[1].replace(/(^|\/)README\.md/, "$1index.md");
        if (token.type === "link_open" && /^(\.\.\/){2,}/.test(token.attrGet("href") ?? "")) {
          isOut = true;
          token.attrs = [["title", "in the repository"]];
          token.tag = "span";
        } else if (token.type === "link_close" && isOut) {
          token.tag = "span";
          isOut = false;
        }
      }
    }
  });
}

/** Go templates in the text are text, not expressions of the page. */
function plainMustaches(md: MarkdownIt): void {
  const escape = (text: string): string =>
    text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
  md.renderer.rules["code_inline"] = (tokens, at) =>
    `<code v-pre>${escape((tokens[at] as Token).content)}</code>`;
}

/**
 * `npm run site [-- --all]`: builds the documentation site in site/.vitepress/dist, with one folder for each
 * version. The checkout's pages become the version of package.json. `--all` also builds every tag such as
 * `v1.2.3`. Folders of other versions stay, so a copy of the server's site can be extended. `SITE_BASE=/path/` is
 * the site's path on its server. It fails if a link of the checkout's pages leads nowhere.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptFlags } from "./script-flags.ts";
import { deadLinksIn, deadLinksOf } from "./site/links.ts";
import { QUESTIONS } from "./site/questions.ts";
import { ask, openSearch } from "./site/search.ts";
import { firstPage, taggedVersions, versionsIn } from "./site/versions.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const SITE = join(ROOT, "site");
const OUT = process.env["SITE_OUT"] ?? join(SITE, ".vitepress/dist");
const BASE = process.env["SITE_BASE"] ?? "/";

const { all } = scriptFlags(import.meta.url, {
  options: { all: { type: "boolean", default: false } },
}).values;
const { version: current } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  version: string;
};

const PAGES = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => join("docs", name));
refuse(PAGES.flatMap((page) => deadLinksOf(ROOT, page).map((link) => `${page}: ${link}`)));

mkdirSync(OUT, { recursive: true });
if (all) {
  const tags = execFileSync("git", ["tag"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  for (const version of taggedVersions(tags)) if (version !== current) buildTag(version);
}
build(current, join(ROOT, "docs"));
refuse(deadLinksIn(join(OUT, current), `${BASE}${current}/`));
const versions = versionsIn(readdirSync(OUT));
writeFileSync(join(OUT, "versions.json"), `${JSON.stringify(versions)}\n`);
writeFileSync(join(OUT, "index.html"), firstPage(versions[0] ?? current));
process.stdout.write(`versions: ${versions.join(", ")}\n`);
await askAll();

/** Ends the program if there is a dead link. */
function refuse(dead: readonly string[]): void {
  if (dead.length === 0) return;
  process.stderr.write(`site: links that lead nowhere:\n${dead.join("\n")}\n`);
  process.exit(1);
}

function build(version: string, docs: string): void {
  const out = join(OUT, version);
  rmSync(out, { recursive: true, force: true });
  const own = {
    SITE_BASE: `${BASE}${version}/`,
    SITE_OUT: out,
    SITE_DOCS: docs,
    SITE_VERSION: version,
  };
  execFileSync("npm", ["--prefix", SITE, "run", "--silent", "build"], {
    env: { ...process.env, ...own },
    stdio: "inherit",
  });
}

/** Builds the pages of a release's tag. */
function buildTag(version: string): void {
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  try {
    const archive = execFileSync("git", ["archive", "--format=tar", `v${version}`, "docs"], {
      cwd: ROOT,
      maxBuffer: 1 << 28,
    });
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
    build(version, join(folder, "docs"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Searches for each question. Fails unless each question finds its page among the first hits. */
async function askAll(): Promise<void> {
  const search = await openSearch(SITE, join(OUT, current));
  const asked = QUESTIONS.map((one) => ask(search, one));
  for (const { typed, rank, hits } of asked)
    process.stdout.write(
      `${rank ?? "-"}  ${typed}: ${hits[(rank ?? 1) - 1]?.heading ?? "nothing"}\n`,
    );
  const lost = asked.filter(({ rank }) => rank === undefined);
  if (lost.length === 0) return;
  process.stderr.write(
    `site: not among the first three hits: ${lost.map(({ typed }) => typed).join(", ")}; name it in a heading of ${lost.map(({ pages }) => pages[0]).join(", ")}\n`,
  );
  process.exitCode = 1;
}

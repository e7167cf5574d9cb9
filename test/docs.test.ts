/**
 * The pages of docs/ are true: links lead somewhere, the manifests of tasks give all their pods a node, and every
 * command line has existing commands, flags and scripts.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { deadLinksOf } from "../scripts/site/links.ts";
import { karpenterProgram } from "../src/cli/commands/karpenter.ts";
import { runPlan } from "../src/cli/plan/run-plan.ts";
import { temporaryFolders } from "../src/testing/temporary-folder.ts";
import { ROOT } from "./tidy/sources.ts";

const PAGES = [
  "README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name))
    .sort(),
];
const read = (page: string): string => readFileSync(join(ROOT, page), "utf8");

/** The code blocks of one language. */
function blocks(text: string, language: string): readonly string[] {
  return [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\``, "gm"))].map(
    ([, code = ""]) => code,
  );
}

const TRACKED = execFileSync("git", ["ls-files", "*.md"], { cwd: ROOT, encoding: "utf8" });

describe("links of the pages", () => {
  it("lead to files and headings that exist, in every page of the repository", () => {
    const pages = new Set([...PAGES, ...TRACKED.trim().split("\n")]);
    expect(pages.size).toBeGreaterThan(100);
    const dead = [...pages].flatMap((page) =>
      deadLinksOf(ROOT, page).map((link) => `${page}: ${link}`),
    );
    expect(dead).toEqual([]);
  });
});

describe("pictures of the pages", () => {
  it("use no reserved word of Mermaid as the name of a box", () => {
    const boxes = PAGES.flatMap((page) =>
      blocks(read(page), "mermaid").flatMap((code) =>
        [...code.matchAll(/(?:^|[\s|>])(\w+)[[({]/g)].map(([, id = ""]) => `${page}: ${id}`),
      ),
    );
    expect(boxes.length).toBeGreaterThan(20);
    const kept = /: (?:class|click|default|end|graph|style|subgraph)$/;
    expect(boxes.filter((box) => kept.test(box))).toEqual([]);
  });
});

describe("manifests of tasks in the pages", () => {
  const newFolder = temporaryFolders("docs-");
  const tasks = PAGES.filter((page) => blocks(read(page), "yaml").length > 0 && /tasks/.test(page));

  it("exist", () => {
    expect(tasks.length).toBeGreaterThan(5);
  });

  it.each(tasks)("lead to a node for every pod: %s", async (page) => {
    const file = join(newFolder(), "page.yaml");
    writeFileSync(file, blocks(read(page), "yaml").join("\n---\n"));
    const said: string[] = [];
    const say = (text: string): void => {
      said.push(text);
    };
    const code = await runPlan(planFlags(file), { out: say, err: say });
    expect([code, said.join("")]).toEqual([0, expect.stringMatching(/pods? placed; \d+ new node/)]);
  });
});

function planFlags(file: string): Parameters<typeof runPlan>[0] {
  const plan = commandOf(["plan"]) as Command;
  return { ...plan.opts(), filename: [file] } as Parameters<typeof runPlan>[0];
}

/** `karpenter` as a command that a person types, not as a name. */
const CALLED = /(?:^|[|(] *|npx |kubectl )karpenter ([^|;&)>]+)/g;

const program = karpenterProgram("karpenter");

function commandOf(words: readonly string[]): Command | undefined {
  return program.commands.find((one) => one.name() === words[0]);
}

/** Command lines of a page, also those inside sentences. Continued lines are joined, comments removed. */
function lines(page: string): readonly string[] {
  const text = read(page);
  const inSentences = [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  const indented = [...text.matchAll(/^ {4}(\S.*)$/gm)].map(([, line = ""]) => line);
  return [...blocks(text, "(?:sh|bash|console)"), ...indented, ...inSentences].flatMap((code) =>
    code
      .replaceAll(/\\\n\s*/g, " ")
      .split("\n")
      .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
      .filter((line) => line !== ""),
  );
}

/** The fault of the command line after `karpenter`; undefined if it is valid. */
function problemOf(words: readonly string[]): string | undefined {
  const command = commandOf(words);
  if (command === undefined)
    return ["--version", "--help", "help"].includes(words[0] ?? "") ? undefined : `no ${words[0]}`;
  const inner = command.commands.find((one) => one.name() === words[1]);
  return optionProblem(inner ?? command, words);
}

function optionProblem(command: Command, words: readonly string[]): string | undefined {
  const known = command.options.flatMap(({ long, short }) => [long, short]);
  const unknown = words
    .slice(1)
    .map((word) => word.split("=", 1)[0] as string)
    .find((word) => /^--?[a-z]/.test(word) && ![...known, "--help", "-h"].includes(word));
  return unknown === undefined ? undefined : `${words[0]} has no ${unknown}`;
}

describe("command lines of the documentation", () => {
  it("name commands and flags that exist", () => {
    const wrong: string[] = [];
    let asked = 0;
    for (const page of PAGES)
      for (const line of lines(page)) {
        for (const [, rest = ""] of line.matchAll(CALLED)) {
          asked++;
          const problem = problemOf(rest.trim().split(/\s+/));
          if (problem !== undefined) wrong.push(`${page}: ${line}: ${problem}`);
        }
        const started = /^npm start(?: -- (.*))?$/.exec(line);
        if (started !== null) {
          asked++;
          const problem = problemOf(["sandbox", ...(started[1] ?? "").split(/\s+/)]);
          if (problem !== undefined) wrong.push(`${page}: ${line}: ${problem}`);
        }
      }
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(40);
  });

  it("name scripts that exist", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = PAGES.flatMap((page) =>
      [...read(page).matchAll(/npm run ([\w:-]+)/g)].map(([, name = ""]) => name),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});

describe("docs/guide/what-it-says.md", () => {
  const PAGE = read("docs/guide/what-it-says.md");
  const explained = new Set(
    PAGE.split("\n")
      .filter((line) => line.startsWith("| `"))
      .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)])
      .map(([, reason = ""]) => reason),
  );

  it("lists every reason of an event", () => {
    const reasons = [...read("docs/reference/events.md").matchAll(/^\| \w+ \| `(\w+)` \|/gm)];
    expect(reasons.length).toBeGreaterThan(50);
    expect(reasons.map(([, reason = ""]) => reason).filter((one) => !explained.has(one))).toEqual(
      [],
    );
  });

  it("lists every reason that controllers and providers write into a condition", () => {
    const written = ["src/controllers", "src/providers", "src/core/nodeclaim"]
      .flatMap((folder) =>
        readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) =>
          join(folder, name),
        ),
      )
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .flatMap((name) => [...read(name).matchAll(/reason: "([A-Z][A-Za-z]+)"/g)])
      .map(([, reason = ""]) => reason);
    expect(written.length).toBeGreaterThan(50);
    const table =
      read("src/providers/aws/errors.ts").split("const REASONS")[1]?.split("\n];")[0] ?? "";
    const refusals = [...table.matchAll(/"([A-Z][A-Za-z]+)",/g)].map(([, reason = ""]) => reason);
    expect(refusals.length).toBeGreaterThan(15);
    expect([...new Set([...written, ...refusals])].filter((one) => !explained.has(one))).toEqual(
      [],
    );
  });
});

/**
 * Holds this project to its rules: imports between floors, no cycles, purpose comments, no forbidden words,
 * documents that name real paths. Each message names the remedy.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { brokenCeilings } from "./tidy/ceilings.ts";
import { unusedExports } from "./tidy/exports.ts";
import { longFunctions } from "./tidy/functions.ts";
import { ownerlessPromises } from "./tidy/promises.ts";
import { pagesBelow, ROOT, readSources, type SourceFile } from "./tidy/sources.ts";

const files = readSources("src");
const product = files.filter((file) => !file.isTest);
/** Every page of documentation. */
const PAGES = [
  ...readdirSync(ROOT).filter((name) => name.endsWith(".md")),
  ...["docs", "src", "test", "bench", "deploy", "scripts", "examples"].flatMap(pagesBelow),
  "dashboard/README.md",
  "dashboard/test/README.md",
];
/** Large folders outside src without a README of their own. This list only shrinks. */
const WITHOUT_README = [
  // A README would change the hash of the built page; dashboard/README.md describes this folder.
  "dashboard/src",
  // A test plays each file of this folder, and test/calm/README.md describes the folder.
  "test/calm/loops",
  // Leaves of test/fixtures/seeds, described in its README.
  "test/fixtures/seeds/fragments",
  "test/fixtures/seeds/negative",
];
/** Sources that are not part of the product. */
const tools = ["scripts", "bench"].flatMap(readSources).filter((file) => !file.isTest);
const everything = [...files, ...["scripts", "test", "bench"].flatMap(readSources)];

/** Who may import whom: the first row whose prefix fits counts. Own folder is always allowed. */
const MAY_IMPORT: readonly (readonly [string, readonly string[]])[] = [
  ["src/base", []],
  ["src/readers", ["src/base"]],
  ["src/apis", ["src/base"]],
  ["src/listen", ["src/base"]],
  ["src/core", ["src/base", "src/apis", "src/core"]],
  ["src/kube", ["src/base", "src/readers", "src/apis"]],
  ["src/controllers", ["src/base", "src/apis", "src/core", "src/kube"]],
  [
    "src/providers",
    [
      "src/base",
      "src/readers",
      "src/apis",
      "src/kube",
      "src/core/cloudprovider",
      "src/core/scheduling",
    ],
  ],
  [
    "src/sandbox",
    ["src/base", "src/readers", "src/apis", "src/kube", "src/listen", "src/providers/aws/api"],
  ],
  [
    "src/operator",
    [
      "src/base",
      "src/readers",
      "src/apis",
      "src/core",
      "src/kube",
      "src/listen",
      "src/controllers",
      "src/providers",
    ],
  ],
  ["src/console", ["src/base", "src/apis", "src/core", "src/listen"]],
  ["src/cli", ["src/"]],
];

/** Within core, a folder may import only those before it. nodeclaim and termination both build on state. */
const CORE_ORDER: Readonly<Record<string, readonly string[]>> = {
  scheduling: [],
  cloudprovider: ["scheduling"],
  buffers: [],
  devices: ["scheduling", "cloudprovider"],
  state: ["scheduling", "cloudprovider", "buffers"],
  nodepool: ["scheduling", "cloudprovider", "state"],
  provisioning: ["scheduling", "cloudprovider", "buffers", "devices", "state", "nodepool"],
  planner: ["scheduling", "cloudprovider", "buffers", "state", "nodepool", "provisioning"],
  repair: ["scheduling", "cloudprovider", "state"],
  safety: [],
  disruption: [
    "scheduling",
    "cloudprovider",
    "buffers",
    "state",
    "nodepool",
    "provisioning",
    "planner",
    "repair",
    "safety",
  ],
  answers: [
    "scheduling",
    "cloudprovider",
    "buffers",
    "state",
    "nodepool",
    "provisioning",
    "disruption",
    "repair",
    "nodeclaim",
  ],
  nodeclaim: ["scheduling", "cloudprovider", "devices", "state", "repair"],
  spans: ["disruption"],
  termination: ["scheduling", "cloudprovider", "state"],
};

const PURE_FLOORS = ["src/apis/", "src/core/", "src/controllers/"];
const TIMER_FILES = ["virtual", "system", "paced"].map((kind) => `src/base/${kind}-clock.ts`);
const NODE_FILES =
  /^src\/(providers\/aws\/(sdk|catalogue)|listen\/|sandbox\/|operator\/|cli\/|kube\/(transport\/connections|kubeconfig\/))/;

describe("the floors of the source tree", () => {
  it("import only lower floors", () => {
    expect(product.flatMap(wrongImports)).toEqual([]);
  });

  it("have core folders that import only earlier ones", () => {
    const wrong = product.flatMap((file) => {
      const from = coreFolder(file.path);
      if (from === undefined) return [];
      return file.imports
        .map(coreFolder)
        .filter((to) => to !== undefined && to !== from && !CORE_ORDER[from]?.includes(to))
        .map(
          (to) =>
            `${file.path}: core/${from} must not know core/${to}; move what is shared leftwards`,
        );
    });
    expect(wrong).toEqual([]);
  });

  it("have no import cycles, types included", () => {
    expect(findCycles([...product, ...tools])).toEqual([]);
  });

  it("keep npm packages and Node.js out of deciding and reconciling code", () => {
    const wrong = product
      .filter((file) => /^src\/(base|apis|core|controllers|providers\/kwok)\//.test(file.path))
      .flatMap((file) =>
        file.packages.map((name) => `${file.path}: imports ${name}; put it behind a door`),
      );
    expect(wrong).toEqual([]);
  });

  it("leave the parsing of users' texts to src/readers, which limits it", () => {
    const parsers = /^(?:js-yaml|yaml|smol-toml|toml|ini|mailparser|postal-mime)(?:\/|$)/;
    const wrong = product
      .filter((file) => !file.path.startsWith("src/readers/"))
      .flatMap((file) =>
        file.packages
          .filter((name) => parsers.test(name))
          .map((name) => `${file.path}: imports ${name}; read it through src/readers`),
      );
    expect(wrong).toEqual([]);
  });

  it("import Node.js modules only in files that talk to the outside", () => {
    const wrong = product
      .filter((file) => !NODE_FILES.test(file.path))
      .flatMap((file) =>
        file.packages
          .filter((name) => name.startsWith("node:"))
          .map((name) => `${file.path}: imports ${name}`),
      );
    expect(wrong).toEqual([]);
  });
});

describe("listeners", () => {
  it("are opened in one file, which has their limits", () => {
    const wrong = product
      .filter((file) => !file.path.startsWith("src/listen/"))
      .flatMap((file) =>
        linesMatching(
          file,
          /\bcreateServer\(|\bcreateSecureServer\(/,
          "use src/listen/listener.ts",
        ),
      );
    expect(wrong).toEqual([]);
  });
});

describe("JSON from other programs", () => {
  it("is parsed within limits if it comes from annotations, ConfigMaps and requests", () => {
    const wrong = product
      .filter((file) => /^src\/(apis|core|controllers|operator|listen)\//.test(file.path))
      .flatMap((file) => linesMatching(file, /\bJSON\.parse\(/, "use base/bounded-json.ts"));
    expect(wrong).toEqual([]);
  });
});

describe("promises in the source", () => {
  it("are awaited or handled, also those whose types the linter cannot see", () => {
    expect(product.flatMap(ownerlessPromises)).toEqual([]);
  });
});

describe("the source text", () => {
  it("reads the time and random numbers only through World.clock and World.random", () => {
    const banned =
      /\b(Date\.now\(|new Date\(\)|Math\.random\(|setTimeout\(|setInterval\(|performance\.now\()/;
    const wrong = product
      .filter((file) => !TIMER_FILES.includes(file.path) && !file.path.startsWith("src/cli/"))
      .flatMap((file) => linesMatching(file, banned, "use World.clock or World.random"));
    expect(wrong).toEqual([]);
  });

  it("on deciding floors uses no Math function whose last digit depends on the engine", () => {
    // Powers of two and square roots are exact everywhere. These functions differ between versions of V8.
    const banned =
      /\bMath\.(pow|exp|expm1|log\w*|cbrt|hypot|a?(sin|cos|tan)h?|atan2)\(|(?<!\b(2|\d+n)) \*\* /;
    const wrong = product
      .filter((file) => /^src\/(base|apis|core)\//.test(file.path))
      .flatMap((file) => linesMatching(file, banned, "use roots: plans are equal on every Node"));
    expect(wrong).toEqual([]);
  });

  it("calls irreversible operations only in the files made for them", () => {
    const doors: readonly (readonly [RegExp, RegExp, string])[] = [
      [
        /\bcloud\.delete\(/,
        /^src\/controllers\/(ending\/end-instance|metered-cloud|nodeoverlay\/overlays)\.ts$/,
        "end instances in controllers/ending",
      ],
      [
        /\b(kube|client)\.delete\(/,
        /^src\/(kube\/client\/delete-\w+|controllers\/node\/eviction-queue)\.ts$/,
        "use kube/client/delete-same.ts, and controllers/ending for claims",
      ],
      [
        /\bdeleteSame\(/,
        /^src\/(kube\/client\/delete-same|controllers\/ending\/\S+|providers\/aws\/(interruption|reservation)\/\S+|providers\/kwok\/provider)\.ts$/,
        "go through controllers/ending",
      ],
      [
        /\bterminateInstances\(|\bbatches\.terminate\(/,
        /^src\/providers\/aws\/(sdk|provider|api\/ec2|instance\/ec2-batches)\.ts$/,
        "only CloudProvider.delete ends an instance",
      ],
    ];
    const wrong = product
      .filter((file) => /^src\/(controllers|providers|operator|cli)\//.test(file.path))
      .flatMap((file) =>
        doors
          .filter(([, allowed]) => !allowed.test(file.path))
          .flatMap(([call, , remedy]) => linesMatching(file, call, remedy)),
      );
    expect(wrong).toEqual([]);
  });

  it("has no async functions in core", () => {
    const wrong = product
      .filter(
        (file) => file.path.startsWith("src/core/") && !file.path.endsWith("cloud-provider.ts"),
      )
      .flatMap((file) =>
        linesMatching(file, /\basync\b|\bawait\b|Promise</, "core is synchronous"),
      );
    expect(wrong).toEqual([]);
  });

  it("has no debugging statements", () => {
    const banned = /\bconsole\.(log|error|debug)\(|\bdebugger\b|\b(TODO|FIXME|XXX)\b|\.only\(/;
    const wrong = files
      .filter((file) => !file.path.startsWith("src/cli/"))
      .flatMap((file) => linesMatching(file, banned, "finish it or say it in the docs"));
    expect(wrong).toEqual([]);
  });

  it("writes to the streams of the process in one file only, which makes text safe for a terminal", () => {
    const exits = ["src/cli/program/output.ts", "src/operator/logging/log-outputs.ts"];
    const banned =
      /\bprocess\.(stdout|stderr)\b|\bprocess\[|\bconsole\.(?!ts")|\{ ?(stdout|stderr)\b.*= process/;
    const wrong = product
      .filter((file) => !exits.includes(file.path))
      .flatMap((file) => linesMatching(file, banned, "use src/cli/program/output.ts"));
    expect(wrong).toEqual([]);
    // Only one file makes values of type `Printed`.
    const made = product
      .filter((file) => file.path !== "src/base/printable.ts")
      .flatMap((file) => linesMatching(file, /\bas (unknown as )?Printed\b/, "use printedLines"));
    expect(made).toEqual([]);
  });

  it("has no folders or files named utils, helpers, common, types or misc", () => {
    const drawers = files.filter((file) =>
      /\/(utils|helpers|common|types|misc|index)(\.ts|\/)/.test(file.path),
    );
    expect(drawers.map((file) => `${file.path}: put each thing with its subject`)).toEqual([]);
  });

  it("on pure floors does not use the process", () => {
    const wrong = product
      .filter((file) => PURE_FLOORS.some((floor) => file.path.startsWith(floor)))
      .flatMap((file) =>
        linesMatching(file, /\bprocess\.(env|argv|exit|cwd)/, "pass it as an argument"),
      );
    expect(wrong).toEqual([]);
  });
});

describe("source files", () => {
  it("begin with a comment about their purpose", () => {
    const silent = [...product, ...tools].filter(
      (file) => !/^(#!.*\n)?\/(\*\*|\/)/.test(file.text),
    );
    expect(silent.map((file) => `${file.path}: begin with two sentences on its purpose`)).toEqual(
      [],
    );
  });

  it("of more than 500 lines give the reason in their head comment", () => {
    const long = product.filter(
      (file) =>
        file.text.split("\n").length > 500 &&
        !/one (file|table|long)|kept together|in one place/i.test(head(file.text)),
    );
    expect(
      long.map((file) => `${file.path}: split it, or say in its head comment why it is one file`),
    ).toEqual([]);
  });

  it("are each imported by another file", () => {
    const used = new Set(everything.flatMap((file) => file.imports));
    const entries = ["main", "ec2-spot-interrupter", "karpenter-convert", "kubectl-karpenter"].map(
      (name) => `src/cli/${name}.ts`,
    );
    const orphans = product.filter((file) => !used.has(file.path) && !entries.includes(file.path));
    expect(orphans.map((file) => `${file.path}: nobody imports it`)).toEqual([]);
  });

  it("export nothing that no other file imports", () => {
    expect(unusedExports(everything)).toEqual([]);
  });

  it("keep functions within 70 lines, except for a list that may only shrink", () => {
    expect(longFunctions(everything)).toEqual([]);
  });

  it("keep the style counts within ceilings that may only shrink", () => {
    expect(brokenCeilings(everything)).toEqual([]);
  });
});

describe("the documents of the project", () => {
  it("name and link only paths that exist", () => {
    const missing = PAGES.flatMap((page) => {
      const text = readFileSync(join(ROOT, page), "utf8");
      const named = [
        ...text.matchAll(/`((?:src|test|docs|examples|deploy|scripts|data|bench)\/[\w./-]+)`/g),
      ].map((match) => match[1] as string);
      const linked = [...text.matchAll(/\]\((?!\w+:)([^)#\s]+)/g)].map((match) =>
        join(dirname(page), match[1] as string),
      );
      return [...named, ...linked]
        .filter((path) => !existsSync(join(ROOT, path)))
        .map((path) => `${page}: ${path}`);
    });
    expect(missing).toEqual([]);
  });

  it("name only npm scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const missing = PAGES.flatMap((name) => {
      const text = readFileSync(join(ROOT, name), "utf8");
      const named = [...text.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(
        (match) => match[1] as string,
      );
      return named.filter((script) => !(script in scripts)).map((script) => `${name}: ${script}`);
    });
    expect(missing).toEqual([]);
  });

  it("include a README in each folder of src", () => {
    const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((item) =>
      item.isDirectory(),
    );
    const missing = folders.filter(
      (folder) =>
        !existsSync(join(ROOT, "src", folder.name, "README.md")) && folder.name !== "providers",
    );
    expect(missing.map((folder) => `src/${folder.name}: write its README`)).toEqual([]);
  });

  it("include a README in each folder outside src with more than six files", () => {
    const large = ["test", "scripts", "bench", "dashboard/src", "dashboard/test", "examples"]
      .flatMap(foldersIn)
      .filter((folder) => filesIn(folder).length > 6);
    const missing = large.filter((folder) => !filesIn(folder).includes("README.md"));
    expect(missing.sort()).toEqual([...WITHOUT_README].sort());
  });
});

/** The folder and all folders below it. */
function foldersIn(folder: string): string[] {
  const below = readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((item) => item.isDirectory() && item.name !== "node_modules")
    .flatMap((item) => foldersIn(`${folder}/${item.name}`));
  return [folder, ...below];
}

/** Names of the files directly in the folder. */
function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((item) => item.isFile())
    .map((item) => item.name);
}

function wrongImports(file: SourceFile): string[] {
  const rule = MAY_IMPORT.find(([prefix]) => file.path.startsWith(`${prefix}/`));
  const [own = "", allowed = []] = rule ?? [];
  const home = own === "src/providers" ? file.path.split("/").slice(0, 3).join("/") : own;
  return file.imports
    .filter(
      (path) => !path.startsWith(`${home}/`) && !allowed.some((prefix) => path.startsWith(prefix)),
    )
    .map(
      (path) =>
        `${file.path} imports ${path}: ${home} may only know ${allowed.join(", ") || "nothing"}`,
    );
}

function coreFolder(path: string): string | undefined {
  return /^src\/core\/([^/]+)\//.exec(path)?.[1];
}

function linesMatching(file: SourceFile, pattern: RegExp, remedy: string): string[] {
  return file.text
    .split("\n")
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => pattern.test(line.replace(/\/\/.*$|^\s*\*.*$/, "")))
    .map(({ line, number }) => `${file.path}:${number}: ${line.trim()} (${remedy})`);
}

function head(text: string): string {
  return /^(?:#!.*\n)?(\/\*\*[\s\S]*?\*\/|(?:\/\/.*\n)+)/.exec(text)?.[1] ?? "";
}

function findCycles(sources: readonly SourceFile[]): string[] {
  const byPath = new Map(sources.map((file) => [file.path, file]));
  const state = new Map<string, "open" | "done">();
  const cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = state.get(path);
    if (at === "done") return;
    if (at === "open") {
      cycles.push([...trail.slice(trail.indexOf(path)), path].join(" -> "));
      return;
    }
    state.set(path, "open");
    for (const next of byPath.get(path)?.imports ?? [])
      if (byPath.has(next)) visit(next, [...trail, path]);
    state.set(path, "done");
  };
  for (const file of sources) visit(file.path, []);
  return cycles;
}

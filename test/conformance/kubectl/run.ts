/**
 * Runs a script with one kubectl against one server and returns what kubectl printed. Leaves out what differs from
 * run to run: times, ages, ids, versions, generated names and the width of columns.
 */

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { words } from "../../e2e/kubectl-client.ts";
import { DISRUPTION_MANIFESTS, DISRUPTION_SCRIPT } from "./disruption-script.ts";
import { RARER_MANIFESTS, RARER_SCRIPT } from "./rarer-script.ts";
import { MANIFESTS, SCRIPT } from "./script.ts";

/** Scripts by the name of the file with their transcripts. */
export const SCRIPTS = {
  kubectl: SCRIPT,
  "kubectl-rarer": RARER_SCRIPT,
  "kubectl-disruption": DISRUPTION_SCRIPT,
} as const;
export type ScriptName = keyof typeof SCRIPTS;

const FILES = new Map([
  [SCRIPT, MANIFESTS],
  [RARER_SCRIPT, RARER_MANIFESTS],
  [DISRUPTION_SCRIPT, DISRUPTION_MANIFESTS],
]);

export interface Session {
  /** Path of the program. */
  readonly kubectl: string;
  readonly kubeconfig: string;
  /** A folder for this session: kubectl's home and caches, and the editor. */
  readonly folder: string;
  readonly namespace: string;
}

interface Typing extends Session {
  /** Manifests of the script, by name. */
  readonly manifests: Readonly<Record<string, string>>;
}

export interface Pace {
  /** How long controllers get between a change and the next read, in milliseconds. */
  readonly settleMs: number;
  /** Whether to skip line `at`, which only reads. */
  skips?(at: number): boolean;
  /** Whether line `at`, which only reads, printed what it should. If not, the line is repeated a few times. */
  isRight?(at: number, text: string): boolean;
}

/** Recorded in place of the output of a skipped line. */
export const SKIPPED = "(skipped)";

/** Commands that only read, and can run at the same time. */
const ONLY_LOOKS =
  /^(get|describe|explain|api-resources|version|logs|exec|top|auth|rollout history) /;
const LOOKS_AT_ONCE = 4;
const LOOKS = 4;
/** After this time a command such as a watch has sent its first requests. */
const UNDER_WAY_MS = 1_500;

/** The exit code, output and errors of each line of a script. */
export async function transcript(
  typed: Session,
  pace: Pace,
  script: readonly string[],
): Promise<readonly string[]> {
  const manifests = FILES.get(script) ?? {};
  const session = { ...typed, manifests };
  writeFiles(session);
  await execute(session, ["create", "namespace", session.namespace], "", {});
  const said: string[] = [];
  for (let at = 0; at < script.length; ) {
    let end = at;
    while (end - at < LOOKS_AT_ONCE && ONLY_LOOKS.test(`${script[end] ?? "-"} `)) end++;
    if (end === at) {
      said.push(await say(session, script[at++] ?? ""));
      continue;
    }
    const isFirst = !ONLY_LOOKS.test(`${script[at - 1] ?? "-"} `);
    if (isFirst) await sleep(pace.settleMs);
    const lines = script
      .slice(at, end)
      .map((line, offset) => look(session, pace, line, at + offset));
    said.push(...(await Promise.all(lines)));
    at = end;
  }
  return said;
}

function writeFiles({ folder, namespace, manifests }: Typing): void {
  writeFileSync(join(folder, "editor.mjs"), EDITOR);
  mkdirSync(join(folder, "kustomize"), { recursive: true });
  for (const [name, text] of Object.entries(manifests))
    writeFileSync(join(folder, `${name}.yaml`), text.replaceAll("NS", namespace));
}

async function look(session: Typing, pace: Pace, line: string, at: number): Promise<string> {
  if (pace.skips?.(at) === true) return SKIPPED;
  for (let attempt = 1; ; attempt++) {
    const text = await say(session, line);
    if (attempt === LOOKS || pace.isRight?.(at, text) !== false) return text;
    await sleep(attempt * 200);
  }
}

async function say(session: Typing, line: string): Promise<string> {
  const [, first, second] = /^during:(.*) => (.*)$/.exec(line) ?? [];
  if (first !== undefined && second !== undefined) {
    const goingOn = say(session, first);
    await sleep(UNDER_WAY_MS);
    const meanwhile = await say(session, second);
    return `${meanwhile}---\n${await goingOn}`;
  }
  const [, from = "", to = "", rest = line] = /^edit:(.*)\|(.*?) (edit .*)$/.exec(line) ?? [];
  const [, command = rest, manifest = ""] = /^(.*?)(?: <(\w+))?$/.exec(rest) ?? [];
  const fill = (text: string): string => text.replaceAll("NS", session.namespace);
  const stdin = manifest === "" ? "" : fill(session.manifests[manifest] ?? "");
  const editor = join(session.folder, "editor.mjs");
  const env = { KUBE_EDITOR: `${process.execPath} ${editor} '${from}' '${to}'` };
  const args = ["-n", session.namespace, ...words(fill(command))];
  return normalise(await execute(session, args, stdin, env), session, line);
}

/** An editor that replaces its first argument by its second in the edited file. */
const EDITOR = `
import { readFileSync, writeFileSync } from "node:fs";
const [, , from, to, file] = process.argv;
writeFileSync(file, readFileSync(file, "utf8").replace(from, to));
`;

function execute(
  { kubectl, kubeconfig, folder }: Session,
  args: readonly string[],
  stdin: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  return new Promise((resolve) => {
    const options = {
      cwd: folder,
      env: { PATH: process.env["PATH"] ?? "", HOME: folder, KUBECONFIG: kubeconfig, ...env },
      timeout: 30_000,
      maxBuffer: 16 * 1_024 * 1_024,
    };
    const child = execFile(kubectl, args, options, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve(`${code === 0 ? "" : `exit ${code}\n`}${out}${err === "" ? "" : `!\n${err}`}`);
    });
    // A kubectl that refuses its arguments does not read standard input: ignore the broken pipe.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(stdin);
  });
}

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/[ \t]+/g, " "],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME"],
  [/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [-+]\d{4}/g, "TIME"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "UID"],
  [/("?resourceVersion"?: )"\d+"/g, "$1RV"],
  [/(Resource Version: )\d+/g, "$1RV"],
  [/(NodePort: \S+ )\d+/g, "$1PORT"],
  [/\b80:3\d{4}\/TCP/g, "80:PORT/TCP"],
  [/\b(web|other|db|agent|odd|many|based|front)-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b/g, "$1-HASH"],
  [/(hash[=:] ?"?)[bcdfghjklmnpqrstvwxz2456789]{8,10}\b/g, "$1HASH"],
  [/\b10\.\d+\.\d+\.\d+\b/g, "IP"],
  [/https:\/\/127\.0\.0\.1:\d+/g, "SERVER"],
  [/\/\S*kubectl\S*-edit-\d+\.yaml/g, "FILE"],
  [/(\/tmp\/\S*?(LIVE|MERGED))-\d+/g, "$2"],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \+0000( UTC)?/g, "TIME"],
  [/W\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ (\S+\.go):\d+\]/g, "W $1]"],
  [/(kube-api-access)-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, "$1-HASH"],
  [/\b(node-debugger-\S+?|web|agent|front-HASH)-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, "$1-NAME"],
  // client-go's message when a wait times out while it begins to watch.
  [/^E\d{4} .*reflector\.go.*\n/gm, ""],
  // Ages: as a column of their own, or after words such as "ago".
  [/(?<=^|[ (])(\d+[smhd])+(?= |$|\))/gm, "AGE"],
  [/<(invalid|unknown)>(?=\s)/g, "AGE"],
  [/AGE \(x\d+ over AGE\)/g, "AGE"],
  // Build details of the server's version.
  [/(Server Version: version\.Info\{.*?GitVersion:"[^"]*").*/g, "$1…"],
  [/ $/gm, ""],
];

function normalise(text: string, { namespace, folder }: Session, line: string): string {
  return withoutChance(text.replaceAll(folder, "HOME").replaceAll(namespace, "NS"), line);
}

/** These commands print a Go map in random order. upstream: kubectl, pkg/cmd/annotate/annotate.go */
const LISTS_A_MAP = /^(annotate|label) .*--list\b/;

/** The output of a line, without what differs from run to run. */
export function withoutChance(text: string, line: string): string {
  const plain = PATTERNS.reduce((result, [pattern, by]) => result.replace(pattern, by), text);
  if (LISTS_A_MAP.test(line)) return plain.split("\n").sort().join("\n");
  // Pods are evicted at the same time, so their lines come in any order.
  return plain.replace(/(^(evicting pod .*|pod\/.* evicted)( \(server dry run\))?\n)+/gm, (lines) =>
    [...lines.matchAll(/.*\n/g)]
      .map(([line]) => line)
      .sort()
      .join(""),
  );
}

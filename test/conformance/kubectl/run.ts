/**
 * Runs the script with one kubectl against one server and returns what it printed, without what differs
 * from run to run: times, ages, ids, versions, generated names and the width of columns.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { MANIFESTS, SCRIPT } from "./script.ts";

export interface Session {
  /** Path of the program. */
  readonly kubectl: string;
  readonly kubeconfig: string;
  /** A folder of its own: home, caches, the editor. */
  readonly folder: string;
  readonly namespace: string;
}

/** What each line of the script printed: exit code, output and errors. */
export async function transcript(session: Session): Promise<readonly string[]> {
  const editor = join(session.folder, "editor.mjs");
  writeFileSync(editor, EDITOR);
  await execute(session, ["create", "namespace", session.namespace], "", {});
  const said: string[] = [];
  for (const line of SCRIPT) {
    const [, from = "", to = "", rest = line] = /^edit:(.*)\|(.*?) (edit .*)$/.exec(line) ?? [];
    const [, command = rest, manifest = ""] = /^(.*?)(?: <(\w+))?$/.exec(rest) ?? [];
    const fill = (text: string): string => text.replaceAll("NS", session.namespace);
    const stdin = manifest === "" ? "" : fill(MANIFESTS[manifest] ?? "");
    const env = { KUBE_EDITOR: `${process.execPath} ${editor} '${from}' '${to}'` };
    const args = ["-n", session.namespace, ...words(fill(command))];
    const text = normalise(await execute(session, args, stdin, env), session);
    said.push(text);
  }
  return said;
}

/** Replaces its first argument by its second in the file that is edited. */
const EDITOR = `
import { readFileSync, writeFileSync } from "node:fs";
const [, , from, to, file] = process.argv;
writeFileSync(file, readFileSync(file, "utf8").replace(from, to));
`;

function words(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ""));
}

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
    child.stdin?.end(stdin);
  });
}

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME"],
  [/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [-+]\d{4}/g, "TIME"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "UID"],
  [/("?resourceVersion"?: )"\d+"/g, "$1RV"],
  [/\b(web|other|db|agent)-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b/g, "$1-HASH"],
  [/(hash[=:] ?"?)[bcdfghjklmnpqrstvwxz2456789]{8,10}\b/g, "$1HASH"],
  [/\b10\.\d+\.\d+\.\d+\b/g, "IP"],
  [/https:\/\/127\.0\.0\.1:\d+/g, "SERVER"],
  [/\/\S*kubectl-edit-\S+\.yaml/g, "FILE"],
  // Ages stand in columns of their own or after "ago"-like words.
  [/(?<=[ (])(\d+[smh])+(?= |$|\))/gm, "AGE"],
  [/<(invalid|unknown)>(?=\s)/g, "AGE"],
  [/[ \t]+/g, " "],
  [/ $/gm, ""],
];

function normalise(text: string, { namespace, folder }: Session): string {
  let plain = text.replaceAll(folder, "HOME").replaceAll(namespace, "NS");
  for (const [pattern, by] of PATTERNS) plain = plain.replace(pattern, by);
  // The longest name in a list of ours makes the line under it as long.
  return plain;
}

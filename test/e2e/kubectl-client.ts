/**
 * Real kubectl against a live sandbox: finds the installed versions and runs command lines as a user types them.
 * It looks on PATH, beside the target of a `kubectl` link on PATH, and in the folders of KUBECTL_DIRS.
 * `kubectl.1.NN` and `kubectl-1.NN` count as further versions.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { readdirSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { LiveSandbox } from "./live-sandbox.ts";

const ROOT = new URL("../../", import.meta.url);
const NAME = /^kubectl(?:[.-]?v?1\.\d+)?$/;

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default 15,000. After this time the command is killed, with exit code -1. */
  readonly timeoutMs?: number;
}

/** One installed kubectl, connected to the sandbox. */
export interface Kubectl {
  /** The minor version: `1.33`. */
  readonly version: string;
  /** Runs a command line; single quotes group words. */
  run(line: string, options?: RunOptions): Promise<Ran>;
  /** Runs a command that must succeed; resolves to its standard output. */
  ok(line: string, options?: RunOptions): Promise<string>;
  /** Runs a command that must fail; resolves to its standard error. */
  fails(line: string, options?: RunOptions): Promise<string>;
  /** Starts a command that runs until it is interrupted. */
  follow(line: string): Followed;
}

export interface Followed {
  /** What it printed so far. */
  text(): string;
  /** Resolves when the output matches; rejects after `limitMs`. */
  sees(pattern: RegExp, limitMs?: number): Promise<void>;
  /** Sends Ctrl-C; resolves when the process has ended. */
  interrupt(): Promise<void>;
}

export interface FoundKubectl {
  readonly path: string;
  readonly version: string;
}

/** Every minor version that is installed, newest first. Wrappers that only choose a version do not count. */
export async function findKubectls(): Promise<readonly FoundKubectl[]> {
  const folders = new Set<string>();
  for (const folder of `${process.env["PATH"] ?? ""}${delimiter}${process.env["KUBECTL_DIRS"] ?? ""}`.split(
    delimiter,
  )) {
    if (folder === "") continue;
    folders.add(folder);
    for (const name of namesIn(folder)) folders.add(dirname(realpathSync(join(folder, name))));
  }
  const paths = new Set(
    [...folders].flatMap((folder) =>
      namesIn(folder).map((name) => realpathSync(join(folder, name))),
    ),
  );
  const found = await Promise.all(
    [...paths].map(async (path) => ({ path, ...(await about(path)) })),
  );
  const byMinor = new Map<number, FoundKubectl>();
  for (const { path, minor } of found) {
    if (minor !== undefined) byMinor.set(minor, { path, version: `1.${minor}` });
  }
  return [...byMinor].sort(([a], [b]) => b - a).map(([, kubectl]) => kubectl);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => NAME.test(name));
  } catch {
    return [];
  }
}

async function about(path: string): Promise<{ minor: number | undefined }> {
  // Without a home kubectl keeps its cache in the working directory.
  const home = { HOME: tmpdir() };
  const { code, out } = await execute(path, ["version", "--client", "-o", "json"], {}, home);
  if (code !== 0) return { minor: undefined };
  const { clientVersion } = JSON.parse(out) as { clientVersion: { gitVersion: string } };
  const [, minor] = /^v1\.(\d+)\.\d+$/.exec(clientVersion.gitVersion) ?? [];
  return { minor: minor === undefined ? undefined : Number(minor) };
}

/** The commands of one kubectl, in the environment of a sandbox. */
export function kubectlOf(
  { path, version }: FoundKubectl,
  { env }: Pick<LiveSandbox, "env">,
): Kubectl {
  const run: Kubectl["run"] = (line, options = {}) => execute(path, words(line), options, env);
  const told = (line: string, ran: Ran): string =>
    `kubectl ${line} (${version}) ended with ${ran.code}\n${ran.out}\n${ran.err}`;
  return {
    version,
    run,
    ok: async (line, options) => {
      const ran = await run(line, options);
      if (ran.code !== 0) throw new Error(told(line, ran));
      return ran.out;
    },
    fails: async (line, options) => {
      const ran = await run(line, options);
      if (ran.code < 1) throw new Error(told(line, ran));
      return ran.err;
    },
    follow: (line) => followed(spawn(path, words(line), { cwd: ROOT, env, stdio: "pipe" }), line),
  };
}

/** The words of a command line; quoted text is one word. */
export function words(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ""));
}

function execute(
  path: string,
  args: readonly string[],
  options: RunOptions,
  env: NodeJS.ProcessEnv,
): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      path,
      args,
      {
        cwd: ROOT,
        env: { ...env, ...options.env },
        timeout: options.timeoutMs ?? 15_000,
        maxBuffer: 16 * 1_024 * 1_024,
      },
      (error, out, err) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, out, err });
      },
    );
    child.stdin?.end(options.stdin ?? "");
  });
}

function followed(child: ChildProcess, line: string): Followed {
  let text = "";
  let onText: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => {
    child.on("close", () => resolve());
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      onText?.();
    });
  }
  return {
    text: () => text,
    sees: async (pattern, limitMs = 15_000) => {
      const until = AbortSignal.timeout(limitMs);
      while (!pattern.test(text)) {
        if (until.aborted) throw new Error(`kubectl ${line} never showed ${pattern}:\n${text}`);
        await new Promise<void>((resolve) => {
          onText = resolve;
          until.addEventListener("abort", () => resolve(), { once: true });
        });
      }
    },
    interrupt: async () => {
      child.kill("SIGINT");
      await ended;
    },
  };
}

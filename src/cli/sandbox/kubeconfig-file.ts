/**
 * The kubeconfig that the sandbox writes for kubectl. It is merged into an existing kubeconfig; any other file is
 * refused. This is checked before anything starts, so that a wrong path is reported at once.
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { get } from "node:https";
import { dirname } from "node:path";
import { KubeconfigError } from "../../kube/kubeconfig/entry.ts";
import { loadKubeconfig } from "../../kube/kubeconfig/kubeconfig.ts";
import {
  type ExistingKubeconfig,
  type KubeconfigInput,
  kubeconfigText,
  mergeProblem,
  sandboxServer,
} from "../../sandbox/apiserver/https/kubeconfig.ts";
import { CliError } from "../program/cli-error.ts";

const HTTPS_PORT = 443;
/** Milliseconds in which another sandbox must answer to count as running. */
const ANSWER_WITHIN_MS = 1_000;

/** Creates the folder. Throws CliError if the file could not be written there. */
export function checkKubeconfig(file: string): void {
  attempt(file, () => {
    makeFolder(dirname(file));
    accessSync(dirname(file), constants.W_OK);
    if (existsSync(file)) accessSync(file, constants.W_OK);
    existingIn(file);
  });
}

/**
 * Rejects with CliError if the file's entry of the sandbox belongs to another sandbox that still answers: to replace
 * the entry would take the cluster from its user. `port`: this sandbox's own port.
 */
export async function checkNotTaken(file: string, port: number): Promise<void> {
  const existing = attempt(file, () => existingIn(file));
  const server = existing === undefined ? undefined : sandboxServer(existing);
  if (server === undefined || !URL.canParse(server)) return;
  const url = new URL("/version", server);
  if (Number(url.port || HTTPS_PORT) === port || !(await answers(url))) return;
  throw new CliError(
    `the kubeconfig ${file} belongs to a sandbox that runs at ${server}: stop it, or choose another file with --kubeconfig`,
  );
}

/** Whether a server answers there, whatever it says. It gets no credentials, so its certificate does not matter. */
function answers(url: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const options = {
      agent: false,
      rejectUnauthorized: false,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    };
    const request = get(url, options, (response) => {
      response.destroy();
      resolve(true);
    });
    request.on("error", () => resolve(false));
  });
}

/**
 * Writes a new file and renames it to the final name, so that a crash leaves a complete file. It contains a token,
 * so only its owner may read it. Throws CliError.
 */
export function writeKubeconfig(file: string, input: KubeconfigInput): void {
  attempt(file, () => {
    const text = kubeconfigText(input, existingIn(file));
    // If the file is a symbolic link, its target is replaced.
    const target = existsSync(file) ? realpathSync(file) : file;
    const next = `${target}.${process.pid}.new`;
    try {
      writeFileSync(next, text, { mode: 0o600, flag: "wx" });
      renameSync(next, target);
    } finally {
      rmSync(next, { force: true });
    }
  });
}

function existingIn(file: string): ExistingKubeconfig | undefined {
  if (!existsSync(file)) return undefined;
  const found = statSync(file);
  if (found.isDirectory()) throw failure("EISDIR");
  if (!found.isFile()) throw new KubeconfigError("it is no regular file");
  const existing = loadKubeconfig(file);
  const problem = mergeProblem(existing);
  if (problem !== undefined) throw new KubeconfigError(problem);
  return existing;
}

/** Creates a folder level by level: Node's recursive mkdir never returns in folders such as /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) {
    if (!statSync(path).isDirectory()) throw failure("ENOTDIR");
    return;
  }
  makeFolder(dirname(path));
  mkdirSync(path);
}

function failure(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

function attempt<T>(file: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const why =
      error instanceof KubeconfigError
        ? error.message
        : ((error as NodeJS.ErrnoException).code ?? String(error));
    throw new CliError(
      `cannot write the kubeconfig ${file}: ${why}; choose another with --kubeconfig`,
    );
  }
}

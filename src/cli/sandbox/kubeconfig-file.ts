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
import { dirname } from "node:path";
import { KubeconfigError } from "../../kube/kubeconfig/entry.ts";
import { loadKubeconfig } from "../../kube/kubeconfig/kubeconfig.ts";
import {
  type ExistingKubeconfig,
  type KubeconfigInput,
  kubeconfigText,
  mergeProblem,
} from "../../sandbox/apiserver/https/kubeconfig.ts";
import { CliError } from "../program/cli-error.ts";

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

function attempt(file: string, act: () => void): void {
  try {
    act();
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

/**
 * The kubeconfig that the sandbox leaves for kubectl. A kubeconfig that is there already is merged into, any other file
 * is refused. Both are checked before anything starts, so that a wrong path is told at once.
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

/** Makes the folder; throws CliError when the file could not be written there. */
export function checkKubeconfig(file: string): void {
  attempt(file, () => {
    makeFolder(dirname(file));
    accessSync(dirname(file), constants.W_OK);
    if (existsSync(file)) accessSync(file, constants.W_OK);
    existingIn(file);
  });
}

/**
 * Writes a new file and puts it in the place of the old one, so that a crash leaves one of the two whole. It holds a
 * token: only its owner may read it, whatever mode the old file had. Throws CliError.
 */
export function writeKubeconfig(file: string, input: KubeconfigInput): void {
  attempt(file, () => {
    const text = kubeconfigText(input, existingIn(file));
    // A link stays a link: what it points to is replaced.
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

/** Level by level: Node's recursive mkdir never returns in folders such as /proc. */
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

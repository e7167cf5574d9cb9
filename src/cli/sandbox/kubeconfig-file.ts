/**
 * The kubeconfig that the sandbox leaves for kubectl. Whether it can be written is asked before
 * anything starts, so that a wrong path is told at once.
 */
import { accessSync, constants, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { CliError } from "../program/cli-error.ts";

/** Makes the folder; throws CliError when the file could not be written there. */
export function checkKubeconfig(file: string): void {
  attempt(file, () => {
    makeFolder(dirname(file));
    accessSync(dirname(file), constants.W_OK);
    if (!existsSync(file)) return;
    accessSync(file, constants.W_OK);
    if (statSync(file).isDirectory()) throw failure("EISDIR");
  });
}

/** Readable by its owner only: it holds the token. */
export function writeKubeconfig(file: string, text: string): void {
  attempt(file, () => writeFileSync(file, text, { mode: 0o600 }));
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
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new CliError(
      `cannot write the kubeconfig ${file}: ${code}; choose another with --kubeconfig`,
    );
  }
}

/**
 * Entries of a kubeconfig: text fields, and fields that name files. Relative paths start at the folder of the
 * kubeconfig.
 * upstream: client-go tools/clientcmd, ResolvePaths
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** The error that the kubeconfig is unusable. `message` names the file, the entry and the remedy. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

/** There is no kubeconfig, and the program does not run in a pod. */
export class NoClusterError extends KubeconfigError {}

/** One cluster, user or context, and the file that contains it. */
export interface Entry {
  readonly name: string;
  /** Path of the kubeconfig file. */
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** An error about an entry. `what`: `cluster` or `user`. */
export function refused({ path, name }: Entry, what: string, why: string): KubeconfigError {
  return new KubeconfigError(`${path}: ${what} ${name} ${why}`);
}

/** A text field. Undefined: it is absent, empty or not text. */
export function textOf({ fields }: Entry, field: string): string | undefined {
  const value = fields[field];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Absolute path of the file that a field names. */
export function fileOf(entry: Entry, field: string): string | undefined {
  const name = textOf(entry, field);
  return name === undefined ? undefined : resolve(dirname(resolve(entry.path)), name);
}

/**
 * The content of `<field>-data` (base64) or of the file that `<field>` names. Throws KubeconfigError if the file cannot
 * be read.
 */
export function pemOf(entry: Entry, field: string): string | undefined {
  const data = textOf(entry, `${field}-data`);
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const file = fileOf(entry, field);
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new KubeconfigError(
      `${entry.path}: ${entry.name}: cannot read ${field} ${textOf(entry, field)}: ${code}`,
    );
  }
}

/**
 * Entries of a kubeconfig: their texts, and their files, whose relative paths count from the folder of the kubeconfig
 * that names them. upstream: client-go tools/clientcmd, ResolvePaths
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** The kubeconfig cannot be used; `message` names the file, the entry and the remedy. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

/** One cluster, user or context, and the file it stands in. */
export interface Entry {
  readonly name: string;
  /** Path of the kubeconfig. */
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** An error about an entry; `what` is `cluster` or `user`. */
export function refused({ path, name }: Entry, what: string, why: string): KubeconfigError {
  return new KubeconfigError(`${path}: ${what} ${name} ${why}`);
}

/** Undefined when the field is absent, empty or no text. */
export function textOf({ fields }: Entry, field: string): string | undefined {
  const value = fields[field];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Absolute path of the file that a field names. */
export function fileOf(entry: Entry, field: string): string | undefined {
  const name = textOf(entry, field);
  return name === undefined ? undefined : resolve(dirname(resolve(entry.path)), name);
}

/** `<field>-data` holds base64, `<field>` a path. Throws KubeconfigError when the file cannot be read. */
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

/** Which build this is: the package's version, and its commit where it is known. */
import { readFileSync } from "node:fs";

interface Manifest {
  readonly version: string;
  readonly commit?: string;
}

function read(): { readonly version: string; readonly commit: string } {
  const file = new URL("../../package.json", import.meta.url);
  const { version, commit } = JSON.parse(readFileSync(file, "utf8")) as Manifest;
  return { version, commit: commit ?? "0000000" };
}

export const BUILD = read();

/**
 * Programs that tests use beside Node, such as bash and diff. A machine may lack them: then the tests that need
 * them are skipped, and one line says so.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Whether one of the programs is not on PATH. Prints which ones are missing and that `test` is skipped. */
export function lacks(test: string, ...names: readonly string[]): boolean {
  const missing = names.filter((name) => !isOnPath(name));
  if (missing.length === 0) return false;
  process.stderr.write(`${test}: no ${missing.join(", ")} on PATH, skipping what needs it\n`);
  return true;
}

function isOnPath(name: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== "";
    } catch {
      return false;
    }
  });
}

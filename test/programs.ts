/**
 * Programs that tests use beside Node. A machine may lack any of them (an image with Node alone has neither bash nor
 * diff): what needs them is left out then, and one line says so.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Whether one of them is not on PATH; says which, and what `test` leaves out for that. */
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

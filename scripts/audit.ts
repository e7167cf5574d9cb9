/**
 * `npm run audit [-- --where-possible]`: asks the registry for known faults in what runs with the program. It fails
 * where there are some, or where the registry cannot say; with `--where-possible` only a line says that it cannot.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { auditVerdict } from "./audit/verdict.ts";

const cwd = fileURLToPath(new URL("../", import.meta.url));
const wherePossible = process.argv.includes("--where-possible");
const { stdout } = spawnSync("npm", ["audit", "--json", "--omit=dev", "--package-lock-only"], {
  cwd,
  encoding: "utf8",
});
const verdict = auditVerdict(stdout);
switch (verdict.kind) {
  case "clean":
    process.stdout.write("the registry knows of no fault in what runs with the program\n");
    break;
  case "faults":
    process.stdout.write(`${verdict.lines.join("\n")}\n`);
    process.exitCode = 1;
    break;
  case "not-asked":
    process.stdout.write(`not audited: the registry gives no advisories (${verdict.reason})\n`);
    if (!wherePossible) process.exitCode = 1;
}

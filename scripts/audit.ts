/**
 * `npm run audit [-- --where-possible]`: asks the registry for known faults of the packages that run with the
 * program. Fails if there are any, or if the registry does not answer. With `--where-possible` a missing answer is
 * only reported in one line.
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

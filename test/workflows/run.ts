/**
 * `npm run test:workflows`: actionlint, built from its Go module, checks the workflows for GitHub. Without Go, one
 * line says so. test/workflows.test.ts checks what each step runs.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { isGoHere, NO_GO, releasedBinary } from "../cluster/binaries.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

if (!isGoHere()) {
  say(`workflows are not linted here: ${NO_GO}`);
} else {
  const program = await releasedBinary("actionlint", say);
  const { status } = spawnSync(program, ["-color"], { cwd: ROOT, stdio: "inherit" });
  process.exitCode = status ?? 1;
  if (status === 0) say("actionlint finds nothing wrong in .github/workflows");
}

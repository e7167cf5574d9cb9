// `npm run test:prometheus`: runs these tests, or says in one line that Prometheus is missing.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { prometheusPrograms } from "./programs.ts";

if (prometheusPrograms() === undefined) {
  console.log("test:prometheus: skipped, no Prometheus here (apt-get install prometheus)");
} else {
  const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));
  const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url));
  const args = [vitest, "run", "--config", config, ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
}

/** Prometheus and promtool, from PATH or installed from Debian. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

const FOLDERS = ["/usr/bin", "/usr/local/bin"];

export interface PrometheusPrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

function found(): PrometheusPrograms | undefined {
  const folder = FOLDERS.find((one) =>
    ["prometheus", "promtool"].every((name) => existsSync(`${one}/${name}`)),
  );
  if (folder === undefined) return undefined;
  return { prometheus: `${folder}/prometheus`, promtool: `${folder}/promtool` };
}

/** Prometheus' programs, installed if needed. Undefined: they cannot be installed. */
export function prometheusPrograms(): PrometheusPrograms | undefined {
  const here = found();
  if (here !== undefined) return here;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return undefined;
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    for (const args of [["update"], ["install", "-y", "--no-install-recommends", "prometheus"]])
      execFileSync("apt-get", args, { stdio: "ignore", timeout: 300_000, env });
  } catch {
    return undefined;
  }
  return found();
}

/**
 * moto (an AWS emulator in Python) and the AWS CLI, in a virtual environment outside the tree, made once for each
 * pair of versions. An unfinished environment is never used. Tests in test/aws run the provider against moto, and
 * compare the simulated AWS with moto and the CLI.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const MOTO = "5.2.5";
const AWS_CLI = "1.46.3";
/** Version of python-hcl2, which reads Terraform's files. */
const HCL = "8.1.4";

/** Python is not installed, or its packages cannot be downloaded; `message` says what to do. */
export class NoPythonError extends Error {
  override readonly name = "NoPythonError";
}

/** The environment's folder of programs (`moto_server`, `aws`); makes the environment when it is missing. */
export async function pythonPrograms(
  tell: (line: string) => void = () => undefined,
): Promise<string> {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const folder = join(cache, "karpenter-ts", "aws", `moto-${MOTO}-awscli-${AWS_CLI}-hcl2-${HCL}`);
  const programs = join(folder, "bin");
  // Scripts of an environment contain its path, so it cannot be moved when done. This file marks it as complete.
  const mark = join(folder, "complete");
  if (existsSync(mark)) return programs;
  if (spawnSync("python3", ["-m", "venv", "--help"]).status !== 0) {
    throw new NoPythonError(
      "moto and the AWS CLI need Python, and `python3 -m venv` does not run here: install Python 3.9 or newer with its venv module",
    );
  }
  tell(`installing moto ${MOTO} and the AWS CLI ${AWS_CLI} (once; about a minute)`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await run("python3", ["-m", "venv", folder]);
  const wanted = [`moto[server]==${MOTO}`, `awscli==${AWS_CLI}`, `python-hcl2==${HCL}`];
  await run(join(programs, "pip"), ["install", "--quiet", "--no-input", ...wanted]);
  writeFileSync(mark, "");
  return programs;
}

function run(program: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
    child.stderr.on("data", (part) => {
      text += String(part);
    });
    child.once("error", reject);
    child.once("exit", (code) => {
      if (code === 0) resolve();
      else {
        const last = text.trim().split("\n").at(-1) ?? "";
        reject(new NoPythonError(`${program} ${args.join(" ")} ended with ${code}: ${last}`));
      }
    });
  });
}

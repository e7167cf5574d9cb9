/**
 * `npm run image:check [-- --local-bases] [-- build flags]`: builds the image by `deploy/image/Containerfile` with
 * docker or podman (CONTAINER_ENGINE names another), and checks it. Then it runs the release tests with the image
 * as the chart runs it, on a real control plane. `--local-bases` is for machines that reach no image registry
 * (`image-bases.ts`). Other flags go to the build.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { localBases } from "./image-bases.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const RECIPE = "deploy/image/Containerfile";
const IMAGE = "localhost/karpenter-check/karpenter:check";
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const flags = process.argv.slice(2);
const engine = process.env["CONTAINER_ENGINE"] ?? ["docker", "podman"].find(works);
if (engine === undefined) {
  say("no image is built here: neither docker nor podman answers; install one of them");
  process.exitCode = 1;
} else {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-image-"));
  try {
    const bases = flags.includes("--local-bases") ? localBases(engine, folder, say) : [];
    build(engine, [...bases, ...flags.filter((flag) => flag !== "--local-bases")]);
    look(engine);
    process.exitCode = release(engine);
  } catch (error) {
    say((error as Error).message);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function release(program: string): number {
  const env = { ...process.env, CONTAINER_ENGINE: program, KARPENTER_IMAGE: IMAGE };
  const args = ["run", "test:cluster", "--", "helm-install"];
  return spawnSync("npm", args, { cwd: ROOT, env, stdio: "inherit" }).status ?? 1;
}

function works(program: string): boolean {
  return spawnSync(program, ["info"], { stdio: "ignore" }).status === 0;
}

/** Builds the image. Throws if the build fails. */
function build(program: string, more: readonly string[]): void {
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
  // docker finds the ignore file by its name, and needs no flag to avoid copies of unfinished images.
  const isPodman = program.endsWith("podman");
  const ignore = isPodman ? ["--layers=false", "--ignorefile", `${RECIPE}.dockerignore`] : [];
  const args = ["build", "-f", RECIPE, ...ignore, "--build-arg", `COMMIT=${commit}`, "-t", IMAGE];
  const { status } = spawnSync(program, [...args, ...more, "."], { cwd: ROOT, stdio: "inherit" });
  if (status !== 0)
    throw new Error(
      `${program} could not build the image, as it says above (without a way to image registries: --local-bases)`,
    );
}

/** Checks the image against what the chart expects. Throws on a difference. */
function look(program: string): void {
  const inspect = (field: string): string =>
    execFileSync(program, ["image", "inspect", "--format", `{{${field}}}`, IMAGE], {
      encoding: "utf8",
    }).trim();
  const run = (...args: readonly string[]) =>
    spawnSync(program, ["run", "--rm", "--read-only", "--network", "none", ...args], {
      encoding: "utf8",
    });
  const must = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`the image ${what}`);
  };
  must(inspect(".Config.User") === "65532:65532", `runs as ${inspect(".Config.User")}`);
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const startedMs = performance.now();
  const { stdout, stderr } = run(IMAGE, "--version");
  const tookMs = performance.now() - startedMs;
  must(stdout.trim() === version, `says version ${stdout.trim() || stderr.trim()}`);
  const told = run("--env", "NODE_DEBUG=karpenter", IMAGE, "--version").stderr;
  must(/code cache of .* taken/.test(told), `does not take its code cache: ${told.trim()}`);
  const writes = "require('node:fs').accessSync('/app', 2)";
  const writable = spawnSync(
    program,
    ["run", "--rm", "--network", "none", "--entrypoint", "/nodejs/bin/node", IMAGE, "-e", writes],
    { encoding: "utf8" },
  );
  must(writable.stderr.includes("EACCES"), `lets its user write to /app ${writable.stderr}`);
  must(run("--entrypoint", "/bin/sh", IMAGE, "-c", "true").status !== 0, "has a shell");
  say(`${Math.round(Number(inspect(".Size")) / 1e6)} MB, --version after ${Math.round(tookMs)} ms`);
}

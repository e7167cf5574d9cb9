/**
 * The real helm against a cluster, and what a kubelet would do with the Deployment it installs. The controller
 * runs as a process with the container's arguments and environment, and with a token of the pod's ServiceAccount.
 * So it may do what the chart's roles allow, and nothing else.
 */
import {
  type ChildProcess,
  execFile,
  execFileSync,
  type StdioOptions,
  spawn,
} from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments, stringify } from "yaml";
import type {
  PodSecurityContext,
  SecurityContext,
} from "../../scripts/image-run/runtime-config.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { imageCommand } from "./image-container.ts";
import type { LiveCluster } from "./live-cluster.ts";
import { END_WITH_STDIN } from "./tied.ts";

const CHARTS = fileURLToPath(new URL("../../deploy/charts/", import.meta.url));
/** A folder that `npm run release` made. Its charts and its bundle are tested instead of the checkout's. */
const RELEASE = process.env["RELEASE_FOLDER"];
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Helm {
  /** `{chart}` and `{crds}` in the arguments stand for the charts; `values` are passed as a file. */
  run(args: readonly string[], values?: object): Promise<Ran>;
  /** Runs a command that must succeed; resolves to its standard output. */
  ok(args: readonly string[], values?: object): Promise<string>;
  /** Runs a command that must fail; resolves to its standard error. */
  fails(args: readonly string[], values?: object): Promise<string>;
}

/** A required value: the chart has no default image. */
export const IMAGE = ["--set", "controller.image.repository=registry.example/karpenter"];

export function helmOf(
  path: string,
  { directory, kubeconfig }: Pick<LiveCluster, "directory" | "kubeconfig">,
): Helm {
  let files = 0;
  const run = (args: readonly string[], values?: object): Promise<Ran> => {
    const full = args.map((arg) =>
      arg.replace("{chart}", chartOf("karpenter")).replace("{crds}", chartOf("karpenter-crd")),
    );
    if (values !== undefined) {
      const file = join(directory, `values-${++files}.yaml`);
      writeFileSync(file, stringify(values));
      full.push("--values", file);
    }
    // helm's folders inside the test's folder, so that it neither reads nor writes the user's settings.
    const env = {
      ...process.env,
      KUBECONFIG: kubeconfig,
      HELM_CONFIG_HOME: join(directory, "helm"),
      HELM_CACHE_HOME: join(directory, "helm"),
      HELM_DATA_HOME: join(directory, "helm"),
    };
    return new Promise((resolve) => {
      execFile(path, full, { env, timeout: 180_000, maxBuffer: 1 << 26 }, (error, out, err) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, out, err });
      });
    });
  };
  return {
    run,
    ok: async (args, values) => {
      const { code, out, err } = await run(args, values);
      if (code !== 0) throw new Error(`helm ${args.join(" ")} failed: ${err}`);
      return out;
    },
    fails: async (args, values) => {
      const { code, out, err } = await run(args, values);
      if (code === 0) throw new Error(`helm ${args.join(" ")} went well:\n${out}`);
      return err;
    },
  };
}

interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly resourceFieldRef?: { readonly resource: string };
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  readonly resources?: { readonly limits?: { readonly memory?: string } };
  readonly securityContext?: SecurityContext;
  /** The security context of the container's pod. */
  readonly podSecurityContext?: PodSecurityContext;
}

/** A document of a rendered chart. */
export interface Rendered extends KubeObject {
  readonly spec?: {
    readonly template?: {
      readonly spec: {
        readonly containers: readonly Container[];
        readonly securityContext?: PodSecurityContext;
      };
    };
  };
  readonly [field: string]: unknown;
}

export function objectsIn(text: string): readonly Rendered[] {
  return parseAllDocuments(text).flatMap((document) => {
    const object = document.toJS() as Rendered | null;
    return object === null ? [] : [object];
  });
}

export function ofKind(objects: readonly Rendered[], kind: string): readonly Rendered[] {
  return objects.filter((object) => object.kind === kind);
}

/** The first container of the Deployment among the objects. */
export function containerIn(objects: readonly Rendered[]): Container {
  const pod = ofKind(objects, "Deployment")[0]?.spec?.template?.spec;
  const [container] = pod?.containers ?? [];
  if (container === undefined) throw new Error("there is no Deployment");
  const { securityContext } = pod ?? {};
  return {
    ...container,
    ...(securityContext === undefined ? {} : { podSecurityContext: securityContext }),
  };
}

/** The environment that a kubelet gives to the container. Supports only the sources that the chart uses. */
export function environmentOf(container: Container, namespace: string): Record<string, string> {
  const entries = container.env.map(({ name, value, valueFrom }): [string, string] => {
    if (value !== undefined) return [name, value];
    if (valueFrom?.fieldRef?.fieldPath === "metadata.namespace") return [name, namespace];
    // What a kubelet sets for a container without requests.
    if (valueFrom?.resourceFieldRef?.resource === "requests.cpu") return [name, "0"];
    throw new Error(`the test does not know where ${name} comes from`);
  });
  return Object.fromEntries(entries);
}

function chartOf(name: string): string {
  return RELEASE === undefined ? `${CHARTS}${name}` : released(new RegExp(`^${name}-\\d.*\\.tgz$`));
}

/** The file of the release whose name matches. */
function released(name: RegExp): string {
  const folder = resolve(ROOT, RELEASE ?? "");
  const found = readdirSync(folder).find((one) => name.test(one));
  if (found === undefined) throw new Error(`RELEASE_FOLDER: ${folder} has no file ${name}`);
  return join(folder, found);
}

/** Bundles the image's program, or unpacks that of the release; resolves to its file. */
export function buildImageProgram({ directory }: Pick<LiveCluster, "directory">): string {
  const out = join(directory, "bundle");
  if (RELEASE !== undefined) {
    mkdirSync(out);
    execFileSync("tar", ["-xzf", released(/^karpenter-bundle-.*\.tar\.gz$/), "-C", out]);
    return join(out, "karpenter.mjs");
  }
  const tsx = join(ROOT, "node_modules/tsx/dist/cli.mjs");
  execFileSync(process.execPath, [tsx, "scripts/bundle.ts", "--out", out], { cwd: ROOT });
  return join(out, "karpenter.mjs");
}

/** Flags of Node.js that forbid writes and child processes, as the container's read-only, empty file system does. */
function readOnly(): readonly string[] {
  const known = process.allowedNodeEnvironmentFlags;
  const flag = known.has("--permission") ? "--permission" : "--experimental-permission";
  return [flag, "--allow-fs-read=*", ...(known.has("--allow-net") ? ["--allow-net"] : [])];
}

/**
 * Starts the container's program. If KARPENTER_IMAGE names an image, CONTAINER_ENGINE runs that image instead. The
 * program ends with this process.
 */
export function runContainer(
  program: string,
  kubeconfig: string,
  container: Container,
  environment: Readonly<Record<string, string>>,
  logFile: string,
): ChildProcess {
  const { CONTAINER_ENGINE: engine, KARPENTER_IMAGE: image } = process.env;
  const log = openSync(logFile, "a");
  const stdio: StdioOptions = ["pipe", log, log];
  let child: ChildProcess;
  if (engine !== undefined && image !== undefined) {
    const command = imageCommand({ engine, image }, kubeconfig, { container, environment });
    child = spawn(command[0], command.slice(1), { stdio });
  } else {
    const args = [...readOnly(), "--import", END_WITH_STDIN, program, ...container.args];
    // Nothing of this process but PATH: a container has only what its manifest gives it.
    const env = { PATH: process.env["PATH"], KUBECONFIG: kubeconfig, ...environment };
    child = spawn(process.execPath, args, { stdio, env });
  }
  closeSync(log);
  return child;
}

/**
 * Ends a container as a kubelet does: SIGTERM, and SIGKILL after ten seconds. Resolves to its exit code, or null
 * if a signal killed it.
 */
export async function endContainer(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(late);
  return child.exitCode;
}

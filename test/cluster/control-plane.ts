/**
 * A whole control plane on loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and
 * kwok for kubelets. Everything lives in one folder: data, certificates, logs, process ids and the
 * kubeconfig of an administrator. A test's programs end with the test, however it ends (see
 * parent/parent.go); those of `npm run cluster -- up` stay until `down`.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createHttpTransport } from "../../src/kube/transport/http-transport.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import {
  type ApiServerIdentity,
  identityIn,
} from "../../src/sandbox/apiserver/https/certificates.ts";
import { binaries, PROGRAMS, type Program } from "./binaries.ts";

export interface ControlPlaneOptions {
  /** Created when missing. Data of an earlier run in this folder is used again. */
  readonly directory: string;
  /** Whether the control plane outlives this process. Default false. */
  readonly stays?: boolean;
  /** Ports without a number here are chosen among the free ones. */
  readonly ports?: Partial<Ports>;
  /** Default: all. etcd and kube-apiserver are always started. */
  readonly programs?: readonly Program[];
  /** Appended to the arguments that this file gives the program. */
  readonly extraArguments?: Readonly<Partial<Record<Program, readonly string[]>>>;
  /** Which of its controllers kube-controller-manager runs. Default: its own choice. */
  readonly controllers?: readonly string[];
  readonly tell?: (line: string) => void;
}

export interface ControlPlane {
  /** The address of kube-apiserver, such as `https://127.0.0.1:40123`. */
  readonly url: string;
  readonly kubeconfig: string;
  /** Requests as the administrator (`system:masters`). */
  readonly transport: Transport;
  /** Process id of a program, for tests that stop or kill it. */
  pid(program: Program): number | undefined;
  /** Kills the program with `kill -9`. Data that it had written stays. */
  kill(program: Program): Promise<void>;
  /** When kube-apiserver was started, once for each start. */
  readonly apiServerStartsMs: readonly number[];
  /** Starts a killed program again, with the same arguments. */
  revive(program: Program): void;
  /** Compacts etcd to its newest revision, and restarts kube-apiserver, so that its watch cache is empty too. */
  forget(): Promise<void>;
  stop(): Promise<void>;
}

/** Names of the ports on which the programs listen. `peer` is etcd's second port. */
export const PORT_NAMES = ["api", "etcd", "peer", "manager", "scheduler"] as const;
export type Ports = Readonly<Record<(typeof PORT_NAMES)[number], number>>;

const READY_LIMIT_MS = 120_000;

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { directory } = options;
  const running = status(directory).find(({ alive }) => alive);
  if (running !== undefined) {
    throw new Error(
      `${directory} already runs ${running.program} (pid ${running.pid}): down first`,
    );
  }
  const programs = await binaries(options.tell);
  for (const folder of ["logs", "pids", "certs"])
    mkdirSync(join(directory, folder), { recursive: true, mode: 0o700 });
  const identity = await identityIn(join(directory, "identity"));
  const ports = await portsFor(options.ports ?? {});
  const url = `https://127.0.0.1:${ports.api}`;
  const kubeconfig = writeFiles(directory, url, identity);
  const children: ChildProcess[] = [];
  const apiServerStartsMs: number[] = [];
  const start = (program: Program): void => {
    if (options.programs?.includes(program) === false && !needed(program)) return;
    if (program === "kube-apiserver") apiServerStartsMs.push(Date.now());
    const extra = options.extraArguments?.[program] ?? [];
    const args = [...argumentsOf(program, options, ports), ...extra];
    children.push(run(join(programs, program), args, options));
    writeFileSync(pidFile(directory, program), String(children.at(-1)?.pid));
  };
  const transport = createHttpTransport({
    server: url,
    caPem: identity.caPem,
    token: identity.token,
    userAgent: "karpenter-ts/cluster",
  });
  const kill = async (program: Program): Promise<void> => {
    const pid = pidOf(directory, program) ?? 0;
    signal(pid, "SIGKILL");
    while (isOurs(pid, program)) await sleep(10);
  };
  const stop = async (): Promise<void> => {
    transport.close();
    await stopControlPlane(directory);
  };
  try {
    await startAll(options, start, children, transport);
  } catch (error) {
    await stop();
    throw error;
  }
  if (options.stays === true) for (const child of children) child.unref();
  return {
    url,
    kubeconfig,
    transport,
    apiServerStartsMs,
    pid: (program) => pidOf(directory, program),
    kill,
    revive: start,
    forget: async () => {
      await compact(ports.etcd);
      await kill("kube-apiserver");
      start("kube-apiserver");
      await until("kube-apiserver is ready", directory, [], () => answers(transport, "/readyz"));
    },
    stop,
  };
}

/** Starts the programs in the order in which they need one another. */
async function startAll(
  { directory, programs, controllers }: ControlPlaneOptions,
  start: (program: Program) => void,
  children: readonly ChildProcess[],
  transport: Transport,
): Promise<void> {
  start("etcd");
  start("kube-apiserver");
  await until("kube-apiserver is ready", directory, children, () => answers(transport, "/readyz"));
  start("kube-controller-manager");
  start("kube-scheduler");
  start("kwok");
  const managed = programs?.includes("kube-controller-manager") !== false;
  if (!managed || controllers !== undefined) return;
  // The last object that the controllers of a new cluster make before pods can be created.
  const path = "/api/v1/namespaces/default/serviceaccounts/default";
  await until("its controllers work", directory, children, () => answers(transport, path));
}

interface EtcdAnswer {
  readonly header: { readonly revision: string };
}

/** Compacts etcd to its newest revision. */
async function compact(port: number): Promise<void> {
  const ask = async (verb: string, body: object): Promise<EtcdAnswer> => {
    const url = `http://127.0.0.1:${port}/v3/kv/${verb}`;
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd ${verb}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as EtcdAnswer;
  };
  const { header } = await ask("range", { key: Buffer.from("/").toString("base64") });
  await ask("compaction", { revision: header.revision, physical: true });
}

/** Every program that this folder knows of. */
export function status(
  directory: string,
): readonly { readonly program: Program; readonly pid: number; readonly alive: boolean }[] {
  return PROGRAMS.flatMap((program) => {
    const pid = pidOf(directory, program);
    return pid === undefined ? [] : [{ program, pid, alive: isOurs(pid, program) }];
  });
}

/** Ends the programs by their process ids: first the API server's clients, then the API server, etcd last. */
export async function stopControlPlane(directory: string): Promise<void> {
  const order: readonly Program[] = [...PROGRAMS].reverse();
  const alive = () => status(directory).filter((entry) => entry.alive);
  for (const program of order) {
    const entry = alive().find((candidate) => candidate.program === program);
    if (entry !== undefined)
      signal(entry.pid, program === "kube-apiserver" ? "SIGKILL" : "SIGTERM");
  }
  for (let waited = 0; alive().length > 0 && waited < 5_000; waited += 50) await sleep(50);
  for (const { pid } of alive()) signal(pid, "SIGKILL");
  for (const program of PROGRAMS) rmSync(pidFile(directory, program), { force: true });
}

function needed(program: Program): boolean {
  return program === "etcd" || program === "kube-apiserver";
}

function pidFile(directory: string, program: Program): string {
  return join(directory, "pids", program);
}

function pidOf(directory: string, program: Program): number | undefined {
  const file = pidFile(directory, program);
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined;
}

/** The system reuses process ids: only a process that runs this program counts. */
function isOurs(pid: number, program: Program): boolean {
  try {
    const line = execFileSync("ps", ["-p", String(pid), "-o", "stat=,args="], { encoding: "utf8" });
    return !line.startsWith("Z") && line.includes(`/${program} `);
  } catch {
    return false;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended in the meantime.
  }
}

function run(path: string, args: readonly string[], options: ControlPlaneOptions): ChildProcess {
  const program = path.slice(path.lastIndexOf("/") + 1);
  const log = openSync(join(options.directory, "logs", `${program}.log`), "a");
  const stays = options.stays === true;
  const child = spawn(path, args, {
    cwd: options.directory,
    detached: stays,
    stdio: [stays ? "ignore" : "pipe", log, log],
    env: stays ? process.env : { ...process.env, EXIT_WITH_STDIN: "1" },
  });
  closeSync(log);
  return child;
}

function argumentsOf(program: Program, options: ControlPlaneOptions, ports: Ports): string[] {
  const { directory, controllers = ["*"] } = options;
  const at = (...path: string[]): string => join(directory, ...path);
  const etcd = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.peer}`;
  const client = [`--kubeconfig=${at("kubeconfig")}`];
  // The usual limit is 20 to 50 requests a second. Tests would measure only that limit.
  const busy = [...client, "--leader-elect=false", "--kube-api-qps=1000", "--kube-api-burst=2000"];
  switch (program) {
    case "etcd":
      return [
        `--data-dir=${at("etcd")}`,
        `--listen-client-urls=${etcd}`,
        `--advertise-client-urls=${etcd}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=default=${peer}`,
        "--unsafe-no-fsync",
      ];
    case "kube-apiserver":
      return [
        `--etcd-servers=${etcd}`,
        `--secure-port=${ports.api}`,
        "--bind-address=127.0.0.1",
        `--cert-dir=${at("certs")}`,
        `--tls-cert-file=${at("identity", "server.crt")}`,
        `--tls-private-key-file=${at("identity", "server.key")}`,
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        `--token-auth-file=${at("tokens.csv")}`,
        "--service-account-issuer=https://kubernetes.default.svc",
        `--service-account-key-file=${at("sa.key")}`,
        `--service-account-signing-key-file=${at("sa.key")}`,
      ];
    case "kube-controller-manager":
      return [
        ...busy,
        `--secure-port=${ports.manager}`,
        "--bind-address=127.0.0.1",
        `--cert-dir=${at("certs", "manager")}`,
        `--service-account-private-key-file=${at("sa.key")}`,
        "--use-service-account-credentials",
        `--controllers=${controllers.join(",")}`,
      ];
    case "kube-scheduler":
      return [
        ...busy,
        `--secure-port=${ports.scheduler}`,
        "--bind-address=127.0.0.1",
        `--cert-dir=${at("certs", "scheduler")}`,
      ];
    case "kwok":
      return [
        ...client,
        "--manage-all-nodes=false",
        "--manage-nodes-with-label-selector=kwok.x-k8s.io/node=fake",
        "--node-lease-duration-seconds=40",
      ];
  }
}

function writeFiles(directory: string, url: string, identity: ApiServerIdentity): string {
  const kubeconfig = join(directory, "kubeconfig");
  const secret = { mode: 0o600 } as const;
  if (!existsSync(join(directory, "sa.key"))) {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = privateKey.export({ type: "pkcs1", format: "pem" });
    writeFileSync(join(directory, "sa.key"), pem, secret);
  }
  const tokens = `${identity.token},admin,admin,system:masters\n`;
  writeFileSync(join(directory, "tokens.csv"), tokens, secret);
  const cluster = {
    server: url,
    "certificate-authority-data": Buffer.from(identity.caPem).toString("base64"),
  };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "karpenter-ts",
    clusters: [{ name: "karpenter-ts", cluster }],
    users: [{ name: "admin", user: { token: identity.token } }],
    contexts: [{ name: "karpenter-ts", context: { cluster: "karpenter-ts", user: "admin" } }],
  };
  writeFileSync(kubeconfig, `${JSON.stringify(config, undefined, 2)}\n`, secret);
  return kubeconfig;
}

/** Listens on all ports together, so that they differ. Throws when a requested port is in use. */
async function portsFor(asked: Partial<Ports>): Promise<Ports> {
  const servers: [keyof Ports, Server][] = [];
  try {
    // Requested ports first: otherwise a free port chosen for another name could take the same number.
    for (const name of PORT_NAMES.toSorted((a, b) => (asked[b] ?? 0) - (asked[a] ?? 0)))
      servers.push([name, await listenOn(name, asked[name] ?? 0)]);
    const ports = servers.map(([name, server]) => [name, (server.address() as AddressInfo).port]);
    return Object.fromEntries(ports) as Ports;
  } finally {
    await Promise.all(servers.map(([, server]) => new Promise((resolve) => server.close(resolve))));
  }
}

function listenOn(name: keyof Ports, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: Error) =>
      reject(new Error(`port ${port} for ${name} is not free: ${error.message}`)),
    );
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

async function answers(transport: Transport, path: string): Promise<boolean> {
  try {
    return (await transport.send({ method: "GET", path })).status === 200;
  } catch {
    return false;
  }
}

async function until(
  what: string,
  directory: string,
  children: readonly ChildProcess[],
  holds: () => Promise<boolean>,
): Promise<void> {
  const deadlineMs = performance.now() + READY_LIMIT_MS;
  while (!(await holds())) {
    const dead = children.find((child) => child.exitCode !== null);
    if (dead !== undefined) {
      throw new Error(`${dead.spawnfile} ended before ${what}; see ${join(directory, "logs")}`);
    }
    if (performance.now() > deadlineMs) {
      throw new Error(
        `waited ${READY_LIMIT_MS / 1000} s until ${what}; see ${join(directory, "logs")}`,
      );
    }
    await sleep(100);
  }
}

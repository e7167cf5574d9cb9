/**
 * The built command as a process: its messages and exit codes when something is wrong, and how the live sandbox
 * starts and ends on Ctrl-C. Needs only what `tsc -b` builds.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeVersionNote } from "../../src/cli/program/node-version.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = join(ROOT, "dist/cli/main.js");

let folder: string;

beforeAll(() => {
  if (!existsSync(MAIN)) throw new Error("dist/ is missing: run `npx tsc -b` before this test");
  folder = mkdtempSync(join(tmpdir(), "karpenter-cli-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

interface Running {
  readonly child: ChildProcess;
  out(): string;
  err(): string;
  /** Resolves to the exit code when the process has ended. */
  readonly ended: Promise<number | null>;
  /** Resolves when standard output or error matches; rejects if the process ends first. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
}

function start(...args: string[]): Running {
  return startNode(MAIN, ...args);
}

function startNode(...args: string[]): Running {
  return startWith({}, ...args);
}

function startWith(env: Readonly<Record<string, string>>, ...args: string[]): Running {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    stdio: "pipe",
    env: { ...process.env, ...env },
  });
  let out = "";
  let err = "";
  const listeners = new Set<() => void>();
  const told = (): void => {
    for (const listener of listeners) listener();
  };
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    told();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString();
    told();
  });
  const ended = new Promise<number | null>((resolve) => {
    child.on("close", (code) => {
      resolve(code);
      told();
    });
  });
  return {
    child,
    ended,
    out: () => out,
    err: () => err,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(out) ?? pattern.exec(err);
          if (match !== null) resolve(match);
          else if (child.exitCode !== null) reject(new Error(`ended without it:\n${out}\n${err}`));
          else return;
          listeners.delete(look);
        };
        listeners.add(look);
        look();
      }),
  };
}

async function run(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const running = start(...args);
  const code = await running.ended;
  return { code, out: running.out(), err: running.err() };
}

/** A port on which nothing listens. Port 1 would not do: fetch refuses it as unsafe. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a live sandbox; resolves when it says that it is ready. */
async function startSandbox(name: string, ...args: string[]): Promise<Running & { port: string }> {
  const kubeconfig = join(folder, name, "kubeconfig");
  const running = start("sandbox", "--kubeconfig", kubeconfig, "--speed", "30", ...args);
  const [, port] = await running.says(/is up at https:\/\/127\.0\.0\.1:(\d+) /);
  return { ...running, port: port as string };
}

/** Opens a watch on pods and resolves at its first frame; `closed` resolves when the server ends it. */
async function watchPods(name: string, port: string): Promise<{ closed: Promise<void> }> {
  const pki = (file: string): string => readFileSync(join(folder, name, "pki", file), "utf8");
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `https://127.0.0.1:${port}/api/v1/pods?watch=true`,
      { ca: pki("ca.crt"), headers: { authorization: `Bearer ${pki("token").trim()}` } },
      (response) => {
        const closed = new Promise<void>((done) => response.on("close", done));
        response.on("error", () => undefined);
        response.once("data", () => resolve({ closed }));
      },
    );
    outgoing.on("error", reject);
    outgoing.end();
  });
}

/** A pod for which no instance type is large enough. */
const TOO_LARGE = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: []
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default}
spec: {containers: [{name: a, image: x, resources: {requests: {cpu: "5000"}}}]}
`;

const ONE_POOL = TOO_LARGE.slice(0, TOO_LARGE.indexOf("---"));

describe("the command line", () => {
  it("prints one sentence about an error, points to the help after wrong usage, and exits with an error", async () => {
    writeFileSync(join(folder, "broken.yaml"), "name: [");
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [["frob"], /^karpenter: unknown command 'frob'\n\(--help says what can be given\)\n$/],
      [
        ["sandbox", "--frob"],
        /^karpenter: unknown option '--frob'\n\(--help says what can be given\)\n$/,
      ],
      [
        ["sandbox", "--speed", "0"],
        /^karpenter: option '--speed <n>' argument '0' is invalid\..*\n\(--help says what can be given\)\n$/,
      ],
      [
        ["sandbox", "--port", "70000"],
        /'--port <n>' argument '70000' is invalid\..*65535\.\n\(--help says what can be given\)\n$/,
      ],
      [
        ["sandbox", "--provider", "gcp"],
        /Allowed choices are aws, kwok\.\n\(--help says what can be given\)\n$/,
      ],
      [
        ["sandbox", "--region", "nowhere"],
        /'nowhere' is invalid\. must be a region of AWS such as eu-west-1\.\n\(--help says what can be given\)\n$/,
      ],
      [
        ["convert", "-f", `http://127.0.0.1:${await closedPort()}/x.yaml`],
        /^karpenter: http:\/\/127\.0\.0\.1:\d+\/x\.yaml: cannot be fetched: connect ECONNREFUSED 127\.0\.0\.1:\d+; check the URL, or download it and give the file\n$/,
      ],
      [
        ["explain", "-f", "cluster.yaml", "pod", "api"],
        /^karpenter: missing required argument 'kind'\n\(--help says what can be given\)\nkarpenter: -f takes all words after it as files: write it last\n$/,
      ],
      [
        ["sandbox", "here"],
        /^karpenter: too many arguments.*\n\(--help says what can be given\)\n$/,
      ],
      [
        ["sandbox", "--scenario", join(folder, "nope.yaml")],
        /^karpenter: cannot read the scenario .*nope\.yaml: no such file; check the path\n$/,
      ],
      [
        ["sandbox", "--scenario", join(folder, "broken.yaml")],
        /^karpenter: .*broken\.yaml, document 1: not valid YAML: line 1, column 8: unexpected end of the stream .*\n$/,
      ],
      [
        ["sandbox", "--kubeconfig", folder],
        /^karpenter: cannot write the kubeconfig .*: EISDIR; choose another with --kubeconfig\n$/,
      ],
      [
        ["sandbox", "--kubeconfig", join(folder, "broken.yaml", "kubeconfig")],
        /^karpenter: cannot write the kubeconfig .*: ENOTDIR; choose another with --kubeconfig\n$/,
      ],
    ];
    const ran = await Promise.all(cases.map(([args]) => run(...args)));
    for (const [index, [, sentence]] of cases.entries()) {
      expect(ran[index]?.err).toMatch(sentence);
      expect(ran[index]).toMatchObject({ code: 1, out: "" });
    }
  });

  it("keeps the exit code of a plan that nobody reads, and ends an endless command with 141", async () => {
    const manifests = join(folder, "too-large.yaml");
    writeFileSync(manifests, TOO_LARGE);
    const text = start("plan", "-f", manifests);
    text.child.stdout?.destroy();
    const json = start("plan", "-f", manifests, "-o", "json");
    json.child.stdout?.destroy();
    json.child.stderr?.destroy();
    expect(await Promise.all([text.ended, json.ended])).toEqual([2, 2]);
    const module = new URL("../../dist/cli/program/", import.meta.url).href;
    const endless = `
      import { Command } from "commander";
      import { runProgram } from "${module}run-program.js";
      import { toStdout } from "${module}output.js";
      const print = () => new Promise(() => setInterval(() => toStdout("more\\n"), 10));
      void runProgram(new Command("endless").action(print));
    `;
    const running = startNode("--input-type=module", "--eval", endless);
    await running.says(/more/);
    running.child.stdout?.destroy();
    expect(await running.ended).toBe(141);
  });

  it("has one rule for output that could not be written: an error with a sentence, but not if the reader stops", async () => {
    const manifests = join(folder, "one-pool.yaml");
    writeFileSync(manifests, ONE_POOL);
    const files = ["-f", manifests];
    // All commands print by the same function (src/cli/program/output.ts), so one that reads files stands for them.
    const commands = [["explain", "nodepools", ...files], ["--version"]];
    // A write to this device fails as one to a full disk does.
    const full = openSync("/dev/full", "w");
    try {
      for (const args of commands) {
        const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", full, "pipe"] });
        let err = "";
        child.stderr?.on("data", (chunk: Buffer) => {
          err += chunk.toString();
        });
        const [code] = (await once(child, "close")) as [number];
        const said = "karpenter: cannot write to standard output: ENOSPC: no space left on device";
        expect([args[0], code, err.includes(said)]).toEqual([args[0], 1, true]);
      }
    } finally {
      closeSync(full);
    }
    const unread = commands.map((args) => start(...args));
    for (const { child } of unread) child.stdout?.destroy();
    const codes = await Promise.all(unread.map(({ ended }) => ended));
    expect(codes).toEqual([0, 0]);
  });

  it("fails if the event loop is empty before the command has ended", async () => {
    const module = new URL("../../dist/cli/program/run-program.js", import.meta.url).href;
    const stuck = `
      import { Command } from "commander";
      import { runProgram } from "${module}";
      void runProgram(new Command("stuck").action(() => new Promise(() => undefined)));
    `;
    const running = startNode("--input-type=module", "--eval", stuck);
    expect(await running.ended).toBe(70);
    expect(running.err()).toBe("stuck: unexpected failure: ended before it was done\n");
  });

  it("serves the console of a cluster that does not answer, and says so", async () => {
    const kubeconfig = join(folder, "dead.kubeconfig");
    writeFileSync(
      kubeconfig,
      `current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:${await closedPort()}"}}]
users: [{name: u, user: {}}]`,
    );
    const console = startWith({ KUBECONFIG: kubeconfig }, MAIN, "console");
    await console.says(/read-only: http:/);
    await console.says(
      /the API server at http:\/\/127\.0\.0\.1:\d+\S* does not answer: connect ECONNREFUSED .*check the cluster.* It is tried again every 5 s, and this says when it works\./,
    );
    console.child.kill("SIGINT");
    await console.ended;
    expect(console.err()).not.toContain("    at ");
  });

  it("prints help for every command", async () => {
    const [all, sandbox, version] = await Promise.all([
      run("--help"),
      run("sandbox", "--help"),
      run("--version"),
    ]);
    expect(all).toMatchObject({ code: 0, err: "" });
    expect(all.out).toMatch(/^ {2}sandbox \[options\]/m);
    for (const flag of ["kubeconfig", "port", "speed", "seed", "provider", "scenario", "output"]) {
      expect(sandbox.out).toContain(`--${flag} <`);
    }
    expect(version.out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("a running sandbox", () => {
  it("refuses a second sandbox on its port, and ends within two seconds at Ctrl-C, with watches open", async () => {
    const sandbox = await startSandbox("one");
    expect(sandbox.out()).toContain(`export KUBECONFIG=`);
    expect(sandbox.out()).toMatch(
      /kubectl get shows right ages,\nwhile kubectl describe and k9s, .* show greater ones/,
    );
    const watch = await watchPods("one", sandbox.port);
    const second = await run(
      "sandbox",
      ...["--kubeconfig", join(folder, "two", "kubeconfig"), "--port", sandbox.port],
    );
    expect(second).toMatchObject({
      code: 1,
      err: `karpenter: port ${sandbox.port} on 127.0.0.1 is in use: stop what listens there or choose another port with --port\n`,
    });
    const atMs = performance.now();
    sandbox.child.kill("SIGINT");
    expect(await sandbox.ended).toBe(0);
    expect(performance.now() - atMs).toBeLessThan(2_000);
    await watch.closed;
    expect(sandbox.out()).toMatch(/\nstopping…\n/);
    const oldNode = nodeVersionNote(process.versions.node);
    expect(sandbox.err()).toBe(oldNode === undefined ? "" : `${oldNode}\n`);
  });

  it("keeps its kubeconfig while it runs; after a kill, the next on its port takes the file over", async () => {
    const kubeconfig = join(folder, "own file", "kubeconfig");
    const first = await startSandbox("own file");
    expect(first.out()).toContain(`  export KUBECONFIG='${kubeconfig}'\n`);
    const before = readFileSync(kubeconfig, "utf8");
    expect(await run("sandbox", "--kubeconfig", kubeconfig)).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining(
        `karpenter: the kubeconfig ${kubeconfig} belongs to a sandbox that runs at https://127.0.0.1:${first.port}: stop it, or choose another file with --kubeconfig\n`,
      ),
    });
    expect(readFileSync(kubeconfig, "utf8")).toBe(before);
    first.child.kill("SIGKILL");
    await first.ended;
    const again = await startSandbox("own file", "--port", first.port);
    expect(again.port).toBe(first.port);
    again.child.kill("SIGINT");
    expect(await again.ended).toBe(0);
  });

  it("ends at once at the second Ctrl-C, even while it is closing", async () => {
    const module = new URL("../../dist/cli/program/interrupted.js", import.meta.url).href;
    const stubborn = `
      import { interrupted } from "${module}";
      const first = interrupted();
      setInterval(() => undefined, 1_000);
      console.log("listening");
      await first;
      console.log("closing");
    `;
    const running = startNode("--input-type=module", "--eval", stubborn);
    await running.says(/listening/);
    running.child.kill("SIGINT");
    await running.says(/closing/);
    running.child.kill("SIGINT");
    expect(await running.ended).toBe(130);
  });

  it("writes events as JSON to stdout and all other text to stderr", async () => {
    const sandbox = await startSandbox("json", "--output", "json");
    expect(sandbox.err()).toContain("export KUBECONFIG=");
    await sandbox.says(/"verb":"running"/);
    sandbox.child.kill("SIGTERM");
    expect(await sandbox.ended).toBe(0);
    const lines = sandbox.out().trim().split("\n");
    for (const line of lines) {
      expect(Object.keys(JSON.parse(line) as object)).toEqual(
        expect.arrayContaining(["time", "actor", "verb", "object", "what"]),
      );
    }
  });
});

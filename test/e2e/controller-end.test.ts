/**
 * How the built controller ends, as a process. A port in use ends it before it has done anything. An uncaught
 * error ends it after it released its Lease. Needs what `tsc -b` builds.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEASE } from "../../src/apis/policy/kinds.ts";
import { freePort } from "../../src/testing/free-port.ts";
import { type LiveSandbox, startLiveSandbox } from "./live-sandbox.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = join(ROOT, "dist/cli/main.js");
const LEASE_REF = { namespace: "kube-system", name: "ends" };

let sandbox: LiveSandbox;
beforeAll(async () => {
  sandbox = await startLiveSandbox();
  // Stops the sandbox's own Karpenter, so that only the tested process acts.
  await sandbox.box.operator.stop();
});
afterAll(() => sandbox.close());

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** `flags`: port flags, by default free ports. `bug`: code that the process runs on SIGUSR2. */
function start(flags: Readonly<Record<string, number>> = {}, bug = "") {
  let out = "";
  let err = "";
  const spawned = ports().then((free) => {
    const given = Object.entries({ ...free, ...flags }).flatMap(([flag, port]) => [
      `--${flag}`,
      String(port),
    ]);
    const lease = ["--leader-election-name", "ends", "--leader-election-namespace", "kube-system"];
    const preload = `data:text/javascript,process.on("SIGUSR2",()=>{${bug}})`;
    const command = [MAIN, "controller", "--provider", "kwok"];
    const args = ["--import", preload, ...command, ...given, ...lease];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: "pipe", env: sandbox.env });
    child.stdout.on("data", (chunk) => {
      out += String(chunk);
    });
    child.stderr.on("data", (chunk) => {
      err += String(chunk);
    });
    return { child, free };
  });
  const ended = spawned.then(async ({ child }): Promise<Ended> => {
    const [code] = (await once(child, "close")) as [number | null];
    return { code, out, err };
  });
  return { spawned, ended, out: () => out };
}

async function ports(): Promise<Record<string, number>> {
  return {
    "metrics-port": await freePort(),
    "health-probe-port": await freePort(),
    "webhook-port": await freePort(),
  };
}

async function holder(): Promise<string | undefined> {
  const { client } = sandbox.box.sandbox;
  const lease = await client.get(LEASE, LEASE_REF).catch(() => undefined);
  return lease?.spec.holderIdentity;
}

describe("the start of the controller", () => {
  it("ends with one sentence if a port is taken, before any request", async () => {
    const taken = createServer().listen(0);
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    for (const flag of ["metrics-port", "health-probe-port", "webhook-port"]) {
      const { code, out, err } = await start({ [flag]: port }).ended;
      expect([flag, code]).toEqual([flag, 1]);
      expect(err).toMatch(
        new RegExp(
          `^karpenter: --${flag} ${port}: port ${port} on all interfaces is in use; choose .*\n$`,
        ),
      );
      expect(out).toBe("");
    }
    expect(await holder()).toBe(undefined);
    taken.close();
  });
});

describe("an uncaught failure", () => {
  it.each([
    ["unhandledRejection", "Promise.reject(new Error('injected'))"],
    ["uncaughtException", "throw new Error('injected')"],
  ])("of kind %s is logged, releases the lease and ends the process", async (kind, bug) => {
    const running = start({}, bug);
    const { child, free } = await running.spawned;
    await expect.poll(running.out).toContain("acquired lease");
    const health = `http://127.0.0.1:${free["health-probe-port"]}/healthz`;
    expect((await fetch(health)).status).toBe(200);
    expect(await holder()).not.toBe("");
    const startedMs = performance.now();
    child.kill("SIGUSR2");
    const { code, out } = await running.ended;
    expect(performance.now() - startedMs).toBeLessThan(12_000);
    expect(code).toBe(1);
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ message }) => message === "unexpected failure, stopping")).toMatchObject(
      [
        {
          level: "ERROR",
          kind,
          error: "injected",
          stack: expect.stringContaining("Error: injected"),
        },
      ],
    );
    expect(await holder()).toBe("");
  });

  it("ends a sandbox and closes its ports", async () => {
    const preload = `data:text/javascript,process.on("SIGUSR2",()=>{throw new Error("injected")})`;
    const flags = ["--port", "0", "--kubeconfig", join(sandbox.folder, "another/kubeconfig")];
    const args = ["--import", preload, MAIN, "sandbox", ...flags];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: "pipe", env: sandbox.env });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        text += String(chunk);
      });
    await expect.poll(() => text).toContain("Ctrl-C ends it");
    child.kill("SIGUSR2");
    expect(await once(child, "close")).toEqual([1, null]);
    expect(text).toContain("unexpected failure, stopping");
    expect(text).toContain("Error: injected");
  });
});

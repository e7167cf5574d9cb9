/**
 * Programs written with client-go and controller-runtime see the same in the sandbox as on a real control plane.
 * `clients/` prints what it saw on each, and the two transcripts are equal.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../src/base/system-clock.ts";
import { installCustomKinds } from "../conformance/apiserver/custom-kinds.ts";
import { clientsBinary } from "./binaries.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { type SandboxProcess, startSandboxProcess } from "./sandbox-process.ts";

const tell = (line: string): void => void process.stderr.write(`${line}\n`);

describe("a program written with client-go and controller-runtime", () => {
  const directory = mkdtempSync(join(tmpdir(), "karpenter-clients-"));
  const sandboxConfig = join(directory, "sandbox", "kubeconfig");
  let plane: ControlPlane | undefined;
  let sandbox: SandboxProcess | undefined;
  let program = "";

  beforeAll(async () => {
    program = await clientsBinary(tell);
    plane = await startControlPlane({
      directory: join(directory, "cluster"),
      programs: ["etcd", "kube-apiserver", "kube-controller-manager"],
      tell,
    });
    await installCustomKinds(plane.transport, new SystemClock());
    sandbox = await startSandboxProcess(sandboxConfig);
  });

  afterAll(async () => {
    await sandbox?.stop();
    await plane?.stop();
    rmSync(directory, { recursive: true });
  });

  it("gets the same answers from the sandbox as from a real control plane", async () => {
    const real = await transcript(program, plane?.kubeconfig ?? "");
    expect(real).not.toMatch(/^failed:/m);
    const ours = await transcript(program, sandboxConfig);
    expect(ours).toBe(real);
    // The transcript is also compared with the recorded one: otherwise both servers could be wrong in the same way.
    const known = fileURLToPath(new URL("./clients/transcript.txt", import.meta.url));
    expect(real).toBe(readFileSync(known, "utf8"));
  });
});

/** What the program prints. A failed program prints its error too, so its exit code is ignored. */
function transcript(program: string, kubeconfig: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      { env: { ...process.env, KUBECONFIG: kubeconfig, EXIT_WITH_STDIN: "1" } },
      (error, stdout, stderr) => {
        if (stdout === "") reject(error ?? new Error(`it printed nothing: ${stderr}`));
        else resolve(stdout);
      },
    );
    child.once("error", reject);
  });
}

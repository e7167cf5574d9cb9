/** A cluster with Karpenter, served over HTTPS on accelerated time, for tests that use kubectl or raw requests. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PacedClock } from "../../src/base/paced-clock.ts";
import { type Box, openBox } from "../../src/cli/sandbox/box.ts";
import type { ApiServer } from "../../src/sandbox/apiserver/api-server.ts";
import { type HttpsListener, startHttps } from "../../src/sandbox/apiserver/https/https-server.ts";
import type { TraceEvent } from "../../src/sandbox/trace.ts";

export interface LiveSandbox {
  readonly box: Box;
  readonly folder: string;
  readonly trace: readonly TraceEvent[];
  readonly https: HttpsListener;
  /** Environment for clients: a home folder of its own, and the kubeconfig. */
  readonly env: NodeJS.ProcessEnv;
  /** Number of watches and followed logs that are open over HTTPS now. */
  openStreams(): number;
  /** Writes a file and returns its path, for `-f`. */
  file(name: string, text: string): string;
  close(): Promise<void>;
}

/** Starts a sandbox on real time, thirty times as fast, for kubectl. */
export async function startLiveSandbox(): Promise<LiveSandbox> {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-e2e-"));
  const clock = new PacedClock(30);
  const trace: TraceEvent[] = [];
  const box = await openBox({
    clock,
    seed: 1,
    trace: (event) => trace.push(event),
    provider: "aws",
    clusterName: "karpenter-demo",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    logLevel: "info",
  });
  const streams = { open: 0 };
  const https = await startHttps(counting(box.sandbox.apiServer, streams), {
    port: 0,
    directory: join(folder, "pki"),
  });
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const env = {
    PATH: process.env["PATH"] ?? "",
    // kubectl caches discovery here, and reads and writes nothing of the user.
    HOME: folder,
    KUBECONFIG: file("kubeconfig", https.kubeconfig),
  };
  return {
    box,
    folder,
    trace,
    file,
    https,
    env,
    openStreams: () => streams.open,
    close: async () => {
      await https.close();
      await box.stop();
      clock.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The same server, which also counts the streams that are open. */
function counting(api: ApiServer, streams: { open: number }): ApiServer {
  return {
    ...api,
    handle: async (request, user) => {
      const answer = await api.handle(request, user);
      const { stream } = answer;
      if (stream === undefined) return answer;
      streams.open++;
      let isOpen = true;
      const close = (): void => {
        if (isOpen) streams.open--;
        isOpen = false;
        stream.close();
      };
      return {
        ...answer,
        stream: { close, [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() },
      };
    },
  };
}

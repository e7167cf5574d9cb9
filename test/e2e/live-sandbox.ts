/**
 * A cluster with Karpenter in it, live behind HTTPS on accelerated time, for tests that come from
 * outside: kubectl and raw requests.
 */
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
  /** Environment of whoever talks to it: a home of its own and the kubeconfig. */
  readonly env: NodeJS.ProcessEnv;
  /** Watches and followed logs that came over HTTPS and are open now. */
  openStreams(): number;
  /** Writes a file and returns its path, for `-f`. */
  file(name: string, text: string): string;
  close(): Promise<void>;
}

/** A cluster on the machine's time, thirty times as fast, that kubectl can talk to. */
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
    // Discovery is cached here; nothing of the user's is read or written.
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

/** The same server, counting the streams that it opened and that are not closed yet. */
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

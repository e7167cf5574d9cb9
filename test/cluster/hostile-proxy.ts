/**
 * Stands between Karpenter and kube-apiserver, with the server's own certificate, and does on request what
 * networks and overloaded servers do: cut connections, answer errors, hold watches back, let a stream fall
 * silent, say that versions are gone.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as httpsRequest } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";

export interface HostileProxy {
  /** The account's, but by way of here. */
  readonly kubeconfig: string;
  /** Ends every connection at once. */
  cut(): void;
  /** While true no connection is taken and those there are end. */
  refuse(refusing: boolean): void;
  /** A share of the requests is answered with one of these instead; watches and the Lease are not spared. */
  answer(statuses: readonly number[], share: number): void;
  /** What watches bring comes so much later. */
  delayWatches(ms: number): void;
  /** Open watches of a plural bring nothing any more, and do not end; new ones work. */
  silence(plural: string): void;
  /** The next watches, one for each stream that is open now, are told that their version is gone; streams end. */
  expire(): void;
  /** Everything in order again, but what fell silent. */
  heal(): void;
  readonly requests: number;
  readonly faults: number;
  close(): Promise<void>;
}

interface Stream {
  readonly path: string;
  readonly answer: ServerResponse;
  silent: boolean;
}

/** `directory`: the control plane's; `account`: the kubeconfig of whoever is to go by way of here. */
export async function startHostileProxy(
  directory: string,
  serverUrl: string,
  random: () => number,
  account: string,
): Promise<HostileProxy> {
  const upstream = new URL(serverUrl);
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const sockets = new Set<Socket>();
  const streams = new Set<Stream>();
  let statuses: readonly number[] = [];
  let share = 0;
  let delayMs = 0;
  let refusing = false;
  let expiring = 0;
  let requests = 0;
  let faults = 0;

  function refuseWith(response: ServerResponse, status: number): void {
    faults++;
    const reason = REASONS[status] ?? "InternalError";
    response.writeHead(status, {
      "content-type": "application/json",
      ...(status === 429 ? { "retry-after": "1" } : {}),
    });
    const text = { kind: "Status", apiVersion: "v1", status: "Failure", code: status, reason };
    response.end(JSON.stringify({ ...text, message: `${reason} by the hostile proxy` }));
  }

  function forward(incoming: IncomingMessage, response: ServerResponse): void {
    requests++;
    const path = incoming.url ?? "";
    const watching = /[?&]watch=(true|1)/.test(path);
    if (watching && expiring > 0) {
      expiring--;
      refuseWith(response, 410);
      return;
    }
    if (statuses.length > 0 && random() < share) {
      refuseWith(response, statuses[Math.floor(random() * statuses.length)] ?? 500);
      return;
    }
    const passed = httpsRequest(
      {
        host: upstream.hostname,
        port: upstream.port,
        path,
        method: incoming.method,
        headers: incoming.headers,
        agent,
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        if (watching) passStream(path, answer, response);
        else answer.pipe(response);
      },
    );
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    incoming.pipe(passed);
  }

  function passStream(path: string, answer: IncomingMessage, response: ServerResponse): void {
    const stream: Stream = { path, answer: response, silent: false };
    streams.add(stream);
    response.flushHeaders();
    answer.on("data", (chunk: Buffer) => {
      if (stream.silent) return;
      if (delayMs === 0) response.write(chunk);
      else setTimeout(() => response.write(chunk), delayMs);
    });
    answer.on("end", () => setTimeout(() => response.end(), delayMs));
    answer.on("error", () => response.destroy());
    response.on("close", () => streams.delete(stream));
  }

  const identity = join(directory, "identity");
  const server = createServer(
    {
      cert: readFileSync(join(identity, "server.crt")),
      key: readFileSync(join(identity, "server.key")),
    },
    forward,
  );
  server.on("connection", (socket: Socket) => {
    if (refusing) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(directory, `proxy-${port}.kubeconfig`);
  const direct = readFileSync(account, "utf8");
  writeFileSync(kubeconfig, direct.replaceAll(serverUrl, `https://127.0.0.1:${port}`), {
    mode: 0o600,
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    kubeconfig,
    cut,
    refuse: (value) => {
      refusing = value;
      if (value) cut();
    },
    answer: (which, ofThem) => {
      statuses = which;
      share = ofThem;
    },
    delayWatches: (ms) => {
      delayMs = ms;
    },
    silence: (plural) => {
      for (const stream of streams) if (stream.path.includes(`/${plural}?`)) stream.silent = true;
    },
    expire: () => {
      expiring = streams.size;
      for (const { answer } of streams) answer.destroy();
    },
    heal: () => {
      statuses = [];
      share = 0;
      delayMs = 0;
      refusing = false;
      expiring = 0;
    },
    get requests() {
      return requests;
    },
    get faults() {
      return faults;
    },
    close: async () => {
      cut();
      agent.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const REASONS: Readonly<Record<number, string>> = {
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

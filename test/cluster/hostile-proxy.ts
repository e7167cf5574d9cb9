/**
 * A proxy between Karpenter and kube-apiserver, with the server's own certificate. On request it misbehaves as networks
 * and overloaded servers do: it cuts connections, answers with errors, delays watches, sends nothing more on a stream,
 * or answers that versions are too old.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as httpsRequest } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";

export interface HostileProxy {
  /** The account's kubeconfig, with the address of this proxy. */
  readonly kubeconfig: string;
  /** Ends every connection once; new ones are accepted. */
  cut(): void;
  /** While true, new connections are refused, and open ones are ended. */
  refuse(refusing: boolean): void;
  /** Answers this share of the requests (0 to 1) with one of these statuses, watches and the Lease included. */
  answer(statuses: readonly number[], share: number): void;
  /** Delays everything that watches deliver. */
  delayWatches(ms: number): void;
  /** Open watches of a resource (plural name) deliver nothing any more, but do not end. New watches work. */
  silence(plural: string): void;
  /** Ends all open streams, and answers as many of the next watches with 410 (version gone). */
  expire(): void;
  /** Ends all faults but silent streams: those stay silent. */
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

/** The faults in force now. */
interface Mischief {
  statuses: readonly number[];
  share: number;
  delayMs: number;
  refusing: boolean;
  /** How many of the next watches are answered with 410 (version gone). */
  expiring: number;
}

const NONE: Mischief = { statuses: [], share: 0, delayMs: 0, refusing: false, expiring: 0 };

/** `directory`: of the control plane; `account`: the kubeconfig of the client that will use the proxy. */
export async function startHostileProxy(
  directory: string,
  serverUrl: string,
  random: () => number,
  account: string,
): Promise<HostileProxy> {
  const mischief = { ...NONE };
  const passage = new Passage(new URL(serverUrl), mischief, random);
  const sockets = new Set<Socket>();
  const identity = join(directory, "identity");
  const [cert, key] = ["server.crt", "server.key"].map((name) =>
    readFileSync(join(identity, name)),
  );
  const server = createServer({ cert, key }, (incoming, response) =>
    passage.forward(incoming, response),
  );
  server.on("connection", (socket: Socket) => {
    if (mischief.refusing) {
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
  const byHere = direct.replaceAll(serverUrl, `https://127.0.0.1:${port}`);
  writeFileSync(kubeconfig, byHere, { mode: 0o600 });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    kubeconfig,
    cut,
    refuse: (refusing) => {
      mischief.refusing = refusing;
      if (refusing) cut();
    },
    answer: (statuses, share) => Object.assign(mischief, { statuses, share }),
    delayWatches: (delayMs) => Object.assign(mischief, { delayMs }),
    silence: (plural) => passage.silence(plural),
    expire: () => passage.expire(),
    heal: () => Object.assign(mischief, NONE),
    get requests() {
      return passage.requests;
    },
    get faults() {
      return passage.faults;
    },
    close: async () => {
      cut();
      passage.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Forwards requests to the server, unless a fault is in force. */
class Passage {
  requests = 0;
  faults = 0;
  readonly #upstream: URL;
  readonly #mischief: Mischief;
  readonly #random: () => number;
  readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  readonly #streams = new Set<Stream>();

  constructor(upstream: URL, mischief: Mischief, random: () => number) {
    this.#upstream = upstream;
    this.#mischief = mischief;
    this.#random = random;
  }

  forward(incoming: IncomingMessage, response: ServerResponse): void {
    this.requests++;
    const path = incoming.url ?? "";
    const watching = /[?&]watch=(true|1)/.test(path);
    const refusal = this.#refusal(watching);
    if (refusal !== undefined) {
      this.faults++;
      refuseWith(response, refusal);
      return;
    }
    const { hostname: host, port } = this.#upstream;
    const { method, headers } = incoming;
    const passed = httpsRequest(
      { host, port, path, method, headers, agent: this.#agent },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        if (watching) this.#passStream(path, answer, response);
        else answer.pipe(response);
      },
    );
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    incoming.pipe(passed);
  }

  /** The status to refuse this request with; undefined if it is forwarded. */
  #refusal(watching: boolean): number | undefined {
    const { statuses, share, expiring } = this.#mischief;
    if (watching && expiring > 0) {
      this.#mischief.expiring--;
      return 410;
    }
    if (statuses.length === 0 || this.#random() >= share) return undefined;
    return statuses[Math.floor(this.#random() * statuses.length)] ?? 500;
  }

  #passStream(path: string, answer: IncomingMessage, response: ServerResponse): void {
    const stream: Stream = { path, answer: response, silent: false };
    this.#streams.add(stream);
    response.flushHeaders();
    answer.on("data", (chunk: Buffer) => {
      const { delayMs } = this.#mischief;
      if (stream.silent) return;
      if (delayMs === 0) response.write(chunk);
      else setTimeout(() => response.write(chunk), delayMs);
    });
    answer.on("end", () => setTimeout(() => response.end(), this.#mischief.delayMs));
    answer.on("error", () => response.destroy());
    response.on("close", () => this.#streams.delete(stream));
  }

  silence(plural: string): void {
    for (const stream of this.#streams)
      if (stream.path.includes(`/${plural}?`)) stream.silent = true;
  }

  expire(): void {
    this.#mischief.expiring = this.#streams.size;
    for (const { answer } of this.#streams) answer.destroy();
  }

  close(): void {
    this.#agent.destroy();
  }
}

function refuseWith(response: ServerResponse, status: number): void {
  const reason = REASONS[status] ?? "InternalError";
  response.writeHead(status, {
    "content-type": "application/json",
    ...(status === 429 ? { "retry-after": "1" } : {}),
  });
  const text = { kind: "Status", apiVersion: "v1", status: "Failure", code: status, reason };
  response.end(JSON.stringify({ ...text, message: `${reason} by the hostile proxy` }));
}

const REASONS: Readonly<Record<number, string>> = {
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/**
 * HTTP for the SDK's clients, with undici: a call costs a fifth less cpu than with the SDK's own handler, which
 * counts in a flood of interruptions, and it goes through a proxy where the environment names one, as Go's
 * does. Answers are read whole. What goes wrong with a connection is an error that the SDK takes for passing,
 * so that it tries again. The SDK hands it on to the clients that get credentials (STS for service accounts).
 */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from "undici";
import { ask } from "./sdk-answer.ts";

/** As many as the SDK's own handler opens. */
const MOST_CONNECTIONS = 50;
/** Between two floods; a new connection costs a handshake just when time is short. */
const KEEP_ALIVE_MS = 30_000;
const THIS_MACHINE = ["localhost", "127.0.0.1", "[::1]"];

/** Milliseconds. */
export interface HttpTimeouts {
  readonly requestTimeoutMs: number;
  readonly connectionTimeoutMs: number;
}

/** As HTTPS_PROXY, HTTP_PROXY and NO_PROXY give them. */
export interface Proxies {
  /** Address of the proxy for `https:` and for `http:`; without it requests go straight. */
  readonly https?: string;
  readonly http?: string;
  /** Hosts that are asked straight, with their subdomains, by commas, or `*`; this machine always is. */
  readonly except?: string;
}

/** The fields of the SDK's request that are used. */
interface SdkRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array;
}

interface SdkResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

/** A request handler as the SDK's clients take it. */
export interface SdkHttpHandler {
  readonly metadata: { readonly handlerProtocol: string };
  handle(
    request: SdkRequest,
    options?: { readonly abortSignal?: unknown },
  ): Promise<{ response: SdkResponse }>;
  destroy(): void;
  updateHttpClientConfig(): void;
  httpHandlerConfigs(): object;
}

/** The SDK's HTTP handler, over shared connections and proxies. */
export function createSdkHttpHandler(
  timeouts: HttpTimeouts,
  proxies: Proxies = {},
): SdkHttpHandler {
  const agent = agentOf(timeouts, proxies);
  return {
    metadata: { handlerProtocol: "http/1.1" },
    async handle(request, options = {}) {
      const { protocol, hostname, port, method, headers, body } = request;
      try {
        const target = {
          origin: `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`,
          path: pathOf(request),
          method,
          headers,
          body: body ?? null,
        };
        // The abort signal that was given to `send`.
        const answer = await ask(agent, target, options.abortSignal as AbortSignal | undefined);
        const response = { ...answer, headers: flatten(answer.headers) };
        return { response };
      } catch (error) {
        throw passing(error);
      }
    },
    // Destroyed twice is destroyed.
    destroy: () => {
      agent.destroy().catch(() => undefined);
    },
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  };
}

/** The path with its query, encoded as the signature needs it. */
function pathOf({ path, query = {} }: Pick<SdkRequest, "path" | "query">): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => (one === null ? [name] : [name, one]).map(escaped).join("=")),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.sort().join("&")}`;
}

function escaped(text: string): string {
  const hex = (character: string): string =>
    `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replace(/[!'()*]/g, hex);
}

function agentOf(timeouts: HttpTimeouts, { https, http, except }: Proxies): Dispatcher {
  const options = {
    connections: MOST_CONNECTIONS,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: timeouts.requestTimeoutMs,
    bodyTimeout: timeouts.requestTimeoutMs,
    connect: { timeout: timeouts.connectionTimeoutMs },
  };
  if (https === undefined && http === undefined) return new Agent(options);
  return new EnvHttpProxyAgent({
    ...options,
    // An empty proxy means none, and keeps the agent from reading the environment itself.
    httpsProxy: https ?? "",
    httpProxy: http ?? "",
    noProxy: except === "*" ? except : [except, ...THIS_MACHINE].filter(Boolean).join(","),
  });
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}

/** undici's own codes mean timeouts and ended connections, under names that the SDK does not know. */
function passing(error: unknown): unknown {
  const code = (error as { code?: unknown } | undefined)?.code;
  const isPassing = typeof code === "string" && /^UND_ERR_(.*TIMEOUT|SOCKET)$/.test(code);
  if (isPassing) (error as Error).name = "TimeoutError";
  return error;
}

/**
 * HTTP for the SDK's clients, with undici. A call takes a fifth less cpu than with the SDK's own handler, which matters
 * when many interruptions arrive together. Requests use the proxy that the environment names, as Go programs do. Errors
 * of a connection are marked so that the SDK retries. The SDK passes the handler on to the clients that get credentials
 * (STS for service accounts).
 */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from "undici";
import { ask } from "./sdk-answer.ts";

/** Maximum number of connections: the limit of the SDK's own handler. */
const MOST_CONNECTIONS = 50;
/** How long an idle connection stays open, because a new one costs a TLS handshake in the next burst of calls. */
const KEEP_ALIVE_MS = 30_000;
const THIS_MACHINE = ["localhost", "127.0.0.1", "[::1]"];

/** Timeouts in milliseconds. */
export interface HttpTimeouts {
  readonly requestTimeoutMs: number;
  readonly connectionTimeoutMs: number;
}

/** Proxies, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY define them. */
export interface Proxies {
  /** Address of the proxy for `https:` and for `http:`. Absent: no proxy. */
  readonly https?: string;
  readonly http?: string;
  /** Hosts without a proxy, with their subdomains, separated by commas; `*`: all. This machine never has one. */
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

/** A request handler of the form that the SDK's clients accept. */
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
    // A second call does nothing.
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
    // An empty string means no proxy. Undefined would make the agent read the environment itself.
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

/** Renames undici's errors for timeouts and closed connections, so that the SDK knows that it may retry. */
function passing(error: unknown): unknown {
  const code = (error as { code?: unknown } | undefined)?.code;
  const isPassing = typeof code === "string" && /^UND_ERR_(.*TIMEOUT|SOCKET)$/.test(code);
  if (isPassing) (error as Error).name = "TimeoutError";
  return error;
}

/**
 * Requests over HTTPS with undici. Short calls share connections; each watch has its own. Frames of a watch are split
 * as they arrive: JSON by lines, protobuf by the length before each frame.
 */
import type { Dispatcher } from "undici";
import { ConnectionError } from "../errors.ts";
import { PROTOBUF, readStatusBody } from "../protobuf/envelope.ts";
import { type ConnectionOptions, ConnectionsByCertificate } from "./connections.ts";
import { type Credential, type Credentials, fixedCredentials } from "./credentials.ts";
import { FrameIterator, lengthDelimited, linesIn } from "./frames.ts";
import type { KubeRequest, KubeResponse, KubeStream, Transport } from "./transport.ts";

/** The longest wait for the headers of an answer, and for the body of a short one, in milliseconds. */
const TIMEOUT_MS = 60_000;

/** The server's address, its authority and the credentials. */
export interface HttpTransportOptions extends Omit<ConnectionOptions, "timeoutMs"> {
  /**
   * URL of the server, such as `https://127.0.0.1:6443`. If it has a path, as behind a gateway, that is put before the
   * path of each request.
   */
  readonly server: string;
  readonly token?: string;
  /** Credentials that may change. Absent: `token` is used. */
  readonly credentials?: Credentials;
  /** Headers of every request. A header with several values is sent several times. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Name and version of the program, such as `karpenter/1.2.3`. */
  readonly userAgent: string;
  /** The longest wait for the headers of an answer, and for more of the body of a short one. Absent: 60 s. */
  readonly timeoutMs?: number;
}

/**
 * Creates a transport over HTTPS with keep-alive. After a 401 it fetches new credentials and repeats the request once.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const connections = new ConnectionsByCertificate({ ...options, timeoutMs });
  const { origin, pathname } = new URL(options.server);
  const prefix = pathname.replace(/\/$/, "");
  const credentials =
    options.credentials ??
    fixedCredentials(options.token === undefined ? {} : { token: options.token });

  async function send(request: KubeRequest): Promise<KubeResponse> {
    const used = await credentialFor(request);
    const answer = await sendAs(request, used);
    if (answer.status !== 401) return answer;
    credentials.refused(used);
    const next = await credentialFor(request);
    return next === used ? answer : sendAs(request, next);
  }

  async function credentialFor(request: KubeRequest): Promise<Credential> {
    try {
      return await credentials.current();
    } catch (error) {
      throw new ConnectionError(`${request.method} ${request.path}`, { cause: error });
    }
  }

  async function sendAs(request: KubeRequest, credential: Credential): Promise<KubeResponse> {
    const abort = new AbortController();
    let answer: Dispatcher.ResponseData;
    try {
      answer = await connections.of(credential).request({
        origin,
        path: `${prefix}${request.path}`,
        method: request.method,
        headers: headersOf(request, options, credential),
        body: bodyOf(request),
        signal: abort.signal,
        // A watch may be silent, and its reader decides for how long. A short answer must arrive in time.
        bodyTimeout: isStream(request) ? 0 : timeoutMs,
        headersTimeout: timeoutMs,
      });
    } catch (error) {
      throw new ConnectionError(`${request.method} ${request.path}`, { cause: error });
    }
    const headers = flatten(answer.headers);
    if (isStream(request) && answer.statusCode < 400) {
      const stream = streamOf(answer.body, {
        request,
        contentType: headers["content-type"] ?? "",
        abort,
      });
      return { status: answer.statusCode, headers, stream };
    }
    return { status: answer.statusCode, headers, body: await read(answer, headers, request) };
  }

  return { send, close: () => connections.close() };
}

function headersOf(
  request: KubeRequest,
  options: HttpTransportOptions,
  credential: Credential,
): Record<string, string | string[]> {
  const authorization = authorizationOf(credential);
  return {
    accept: request.takesBytes === true ? `${PROTOBUF},application/json` : "application/json",
    "user-agent": options.userAgent,
    ...options.headers,
    ...(authorization === undefined ? {} : { authorization }),
    ...(request.body === undefined ? {} : { "content-type": "application/json" }),
    ...request.headers,
  };
}

function authorizationOf({ token, basic }: Credential): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (basic === undefined) return undefined;
  return `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString("base64")}`;
}

function bodyOf({ body }: KubeRequest): string | Uint8Array | null {
  if (body === undefined) return null;
  return body instanceof Uint8Array ? body : JSON.stringify(body);
}

function isStream(request: KubeRequest): boolean {
  return /[?&](watch|follow)=(true|1)(&|$)/.test(request.path);
}

function flatten(headers: Dispatcher.ResponseData["headers"]): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined)
      result[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return result;
}

async function read(
  answer: Dispatcher.ResponseData,
  headers: Readonly<Record<string, string>>,
  request: KubeRequest,
): Promise<unknown> {
  try {
    if (headers["content-type"]?.startsWith(PROTOBUF) === true) {
      const bytes = await answer.body.bytes();
      return answer.statusCode < 400 ? bytes : readStatusBody(bytes);
    }
    const text = await answer.body.text();
    return headers["content-type"]?.includes("json") === true && text !== ""
      ? JSON.parse(text)
      : text;
  } catch (error) {
    throw new ConnectionError(`${request.method} ${request.path}: reading answer`, {
      cause: error,
    });
  }
}

interface StreamFacts {
  readonly request: KubeRequest;
  readonly contentType: string;
  readonly abort: AbortController;
}

function streamOf(
  body: AsyncIterable<Uint8Array>,
  { request, contentType, abort }: StreamFacts,
): KubeStream {
  let closed = false;
  // It is no failure if this side closed the stream.
  const failed = (cause: unknown): Error | undefined =>
    closed ? undefined : new ConnectionError(`watching ${request.path}`, { cause });
  return {
    close: () => {
      closed = true;
      abort.abort();
    },
    [Symbol.asyncIterator]: () => {
      if (contentType.startsWith(PROTOBUF))
        return new FrameIterator(body, {
          splitter: lengthDelimited(),
          read: (bytes) => bytes,
          failed,
        });
      const isWatch = request.path.includes("watch=");
      const read = isWatch ? (line: string) => JSON.parse(line) as unknown : (line: string) => line;
      return new FrameIterator(body, { splitter: linesIn(), read, failed });
    },
  };
}

/**
 * The HTTPS server of the webhooks: it answers reviews of the API server. Its certificate can be replaced while it
 * runs. apis/hub decides the answers, for this server and for the sandbox.
 */
import { JsonLimitError, parseBoundedJson } from "../../base/bounded-json.ts";
import type { Clock } from "../../base/clock.ts";
import { jsonInSteps } from "../../base/json-in-steps.ts";
import type { Logger } from "../../base/log.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import { type Exchange, RequestRefusal } from "../../listen/exchange.ts";
import type { Limits } from "../../listen/limits.ts";
import { type Listener, startListener, type TlsIdentity } from "../../listen/listener.ts";
import { Turnstile } from "./turnstile.ts";

const MIB = 1_024 * 1_024;
/**
 * The most bytes of an admission review. It contains an object and its older state. kube-apiserver accepts requests of
 * at most 3 MiB, and etcd stores objects of at most 1.5 MiB.
 */
const ADMISSION_BYTES = 7 * MIB;
/**
 * The most bytes of a conversion review. It contains all objects of a list, because kube-apiserver does not split them.
 * 10,000 NodeClaims of 3 kB are 30 MB.
 */
export const CONVERSION_BYTES = 32 * MIB;
/** Limits of the webhooks' listener. Bodies may be larger than requests to kube-apiserver itself. */
export const WEBHOOK_LIMITS: Partial<Limits> = {
  maxBodyBytes: ADMISSION_BYTES,
  // One client address may use half of this memory, which is enough for one conversion of the largest size.
  maxHeldBytes: 2 * CONVERSION_BYTES,
  // kube-apiserver waits for a webhook for at most 30 seconds.
  requestMs: 30_000,
};
/** A review of at most this many bytes is answered in some milliseconds, so it need not wait for others. */
const SMALL_BYTES = 64 * 1_024;
/** Milliseconds in which requests may finish when the server stops. upstream: the webhooks' GracePeriod */
const GRACE_MS = 5_000;

/** Port, address and client authority of the webhooks. */
export interface WebhookServerOptions {
  /** The port. 0: any free port. */
  readonly port: number;
  /** The address to listen on. Absent: all interfaces, which a pod needs. */
  readonly host?: string | undefined;
  /**
   * The server's certificate. With `clientCaPem`, admission reviews are accepted only from callers with a certificate
   * of that authority.
   */
  readonly identity: TlsIdentity;
  /** Makes the review with its answer. Undefined: the path is unknown. */
  readonly answer: (path: string, review: unknown) => Steps<unknown>;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Opens the server. Rejects with PortError if the port cannot be used. */
export async function serveWebhooks(options: WebhookServerOptions): Promise<Listener> {
  const { port, host, identity, log } = options;
  const turnstile = new Turnstile(options.clock);
  const listener = await startListener({
    name: "webhook",
    port,
    host,
    tls: identity,
    limits: WEBHOOK_LIMITS,
    handle: (exchange) => answerReview(exchange, options, turnstile),
    log,
  });
  return { ...listener, close: () => listener.close(GRACE_MS) };
}

async function answerReview(
  exchange: Exchange,
  options: WebhookServerOptions,
  turnstile: Turnstile,
): Promise<void> {
  const { method, path, response } = exchange;
  const { clientCaPem } = options.identity;
  if (method !== "POST") throw new RequestRefusal(405, "reviews are posted");
  const isConversion = path.startsWith("/conversion/");
  // kube-apiserver sends no certificate to conversion webhooks: there is no setting for it.
  if (clientCaPem !== undefined && !isConversion && !exchange.isClientKnown)
    throw new RequestRefusal(403, "a client certificate of the API server is needed");
  const body = await exchange.readBody(isConversion ? CONVERSION_BYTES : ADMISSION_BYTES);
  const isSmall = body.length <= SMALL_BYTES;
  const work = answerText(path, body, options);
  const text = await (isSmall ? atOnce(work) : turnstile.pass(exchange.signal, work));
  if (text === undefined) throw new RequestRefusal(404, "no webhook at this path");
  // The listener has answered 503 meanwhile if the time was over.
  if (response.headersSent) return;
  response.writeHead(200, { "content-type": "application/json" });
  response.end(text);
}

/** The answer to the review in this body, as JSON. Undefined: no webhook has this path. */
function* answerText(
  path: string,
  body: Buffer,
  { answer }: WebhookServerOptions,
): Steps<string | undefined> {
  const review = reviewIn(body);
  yield;
  const answered = yield* answer(path, review);
  return answered === undefined ? undefined : yield* jsonInSteps(answered);
}

function reviewIn(body: Buffer): unknown {
  try {
    return parseBoundedJson(body.toString("utf8"));
  } catch (error) {
    if (error instanceof JsonLimitError)
      throw new RequestRefusal(400, `not a review: ${error.message}`);
    // The parser's message would reveal parts of the body.
    throw new RequestRefusal(400, `not a review: the body is no JSON (${body.length} bytes)`);
  }
}

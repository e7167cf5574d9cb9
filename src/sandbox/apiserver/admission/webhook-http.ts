/**
 * Calls a webhook behind a URL, over HTTPS, and trusts the CA bundle of its configuration. Errors have the
 * text of kube-apiserver's client.
 */
import { Agent } from "undici";
import { isObject } from "../../../base/json.ts";
import { goJson } from "../request/go-json.ts";
import type { WebhookCaller, WebhookClientConfig } from "../resource-definition.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
/** Largest answer in bytes. A patch may contain a whole object in base64, and some more operations. */
const MAX_ANSWER_BYTES = 8 * 1_024 * 1_024;

/** Calls webhooks with a URL. Webhooks with a service go to `inCluster`. */
export function webhookCaller(inCluster: WebhookCaller = noServices): WebhookCaller {
  return (config, review, timeoutMs) =>
    config.url === undefined
      ? inCluster(config, review, timeoutMs)
      : callUrl(config.url, config, review, timeoutMs ?? DEFAULT_TIMEOUT_MS);
}

/** The caller for a sandbox that has no webhooks behind services. */
const noServices: WebhookCaller = async (config, _, timeoutMs) => {
  throw serviceNotFound(config, timeoutMs ?? DEFAULT_TIMEOUT_MS);
};

function serviceNotFound({ service }: WebhookClientConfig, timeoutMs: number): Error {
  const { name = "", namespace = "", path = "/", port = 443 } = service ?? {};
  const url = timed(`https://${name}.${namespace}.svc:${port}${path}`, timeoutMs);
  return new Error(`Post "${url}": service "${name}" not found`);
}

async function callUrl(
  address: string,
  { caBundle }: WebhookClientConfig,
  review: unknown,
  timeoutMs: number,
): Promise<unknown> {
  const url = timed(address, timeoutMs);
  const { origin, pathname, search } = new URL(url);
  const ca = caBundle === undefined ? {} : { ca: Buffer.from(caBundle, "base64").toString() };
  const agent = new Agent({ connect: { ...ca, timeout: timeoutMs }, pipelining: 0 });
  try {
    const answer = await agent.request({
      origin,
      path: `${pathname}${search}`,
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, */*" },
      body: JSON.stringify(review),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await textOf(answer.body);
    if (answer.statusCode >= 300) throw new Refused(refusalText(answer.statusCode));
    return parsed(text);
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Error(`Post "${url}": ${failureText(error, url)}`, { cause: error });
  } finally {
    agent.destroy().catch(() => undefined);
  }
}

/** Reads an answer. Throws if it is larger than the limit. */
async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES)
      throw new Refused(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The error that an answer arrived but cannot be used. */
class Refused extends Error {
  override readonly name = "Refused";
}

/** The address with the timeout as a query parameter, as webhooks receive it. */
function timed(address: string, timeoutMs: number): string {
  return `${address}${address.includes("?") ? "&" : "?"}timeout=${timeoutMs / 1_000}s`;
}

function parsed(text: string): unknown {
  const read = goJson(Buffer.from(text));
  const value = "value" in read ? read.value : text;
  if (isObject(value)) return value;
  const kind = Array.isArray(value) ? "array" : typeof value;
  throw new Refused(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${kind} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
  );
}

function refusalText(status: number): string {
  if (status === 404) return "the server could not find the requested resource";
  if (status >= 500)
    return 'an error on the server ("unknown") has prevented the request from succeeding';
  return "the server rejected our request for an unknown reason";
}

function failureText(error: unknown, url: string): string {
  const { name = "", code = "", message = "" } = error as NodeJS.ErrnoException;
  const { hostname, port } = new URL(url);
  if (name === "TimeoutError" || code === "UND_ERR_CONNECT_TIMEOUT")
    return "context deadline exceeded";
  if (code === "ECONNREFUSED")
    return `dial tcp ${hostname}:${port || 443}: connect: connection refused`;
  if (code === "ENOTFOUND") return `dial tcp: lookup ${hostname}: no such host`;
  if (/CERT|SIGNED|ISSUER/.test(code))
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority";
  return message;
}

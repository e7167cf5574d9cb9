/**
 * One HTTP endpoint for all simulated services, for the real AWS SDKs and CLI. EC2, IAM and STS use query
 * protocols; SSM, Pricing, SQS, EventBridge and Service Quotas use JSON; EKS, FIS and zonal shift use REST.
 * The service is known by the target header, the path, or the API version in the form. Signatures are not
 * checked. This file only translates; `SimulatedAws.call` does the rest.
 */
import { JsonLimitError, parseBoundedJson } from "../../../base/bounded-json.ts";
import { isObject } from "../../../base/json.ts";
import type { Logger } from "../../../base/log.ts";
import { type Exchange, RequestRefusal } from "../../../listen/exchange.ts";
import type { Limits } from "../../../listen/limits.ts";
import { startListener } from "../../../listen/listener.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { SimulatedAws } from "../simulated-aws.ts";
import { toAwsError } from "../simulated-aws.ts";
import { EC2_REQUESTS, EC2_RESPONSES } from "./ec2-shapes.ts";
import { IAM_REQUESTS, IAM_RESPONSES } from "./iam-shapes.ts";
import { decodeQuery } from "./query.ts";
import { restBody, restCall } from "./rest.ts";
import type { Shapes } from "./shape.ts";
import { encodeXml, escapeXml } from "./xml.ts";

/** The account over HTTP, for the AWS CLI and the SDKs. */
export interface AwsEndpoint {
  /** The address, such as `http://127.0.0.1:<port>`: the value for AWS_ENDPOINT_URL. */
  readonly url: string;
  close(): Promise<void>;
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly search: URLSearchParams;
  readonly target: string | undefined;
  readonly contentType: string;
  readonly body: string;
  /** The signal that is aborted if the caller disconnects before the answer. */
  readonly signal: AbortSignal;
}

const MIB = 1_024 * 1_024;
/**
 * The largest request is a batch of SQS messages: 1 MiB, and JSON may need six bytes for a character. All
 * callers are on this machine, so one address may use every slot.
 */
export const AWS_LIMITS: Partial<Limits> = {
  maxBodyBytes: 6 * MIB,
  maxHeldBytes: 64 * MIB,
  maxConnections: 1_000,
  maxRequests: 1_000,
  sharePercent: 100,
};

/** Options of the HTTP endpoint. */
export interface AwsEndpointOptions {
  /** The port to listen on. 0 means any free port. */
  readonly port: number;
  /** Receives refused and failed requests of the listener. Default: no log. */
  readonly log?: Logger;
}

/**
 * Serves `aws` on the loopback interface. Signatures are not checked, so the listener refuses requests of web
 * pages. Rejects with PortError if the port cannot be used.
 */
export async function startAwsEndpoint(
  aws: SimulatedAws,
  { port, log }: AwsEndpointOptions,
): Promise<AwsEndpoint> {
  let sequence = 0;
  const listener = await startListener({
    name: "simulated AWS",
    port,
    host: "127.0.0.1",
    limits: AWS_LIMITS,
    handle: (exchange) => {
      const requestId = `00000000-0000-4000-8000-${String(++sequence).padStart(12, "0")}`;
      return serve(aws, exchange, requestId);
    },
    ...(log === undefined ? {} : { log }),
  });
  return { url: `http://127.0.0.1:${listener.port}`, close: () => listener.close() };
}

async function serve(aws: SimulatedAws, exchange: Exchange, requestId: string): Promise<void> {
  const request = await read(exchange);
  // Long polling lasts as long as the simulated clock says, which may be long in real time.
  if (request.target === "AmazonSQS.ReceiveMessage") exchange.lastsLong();
  const reply = await answer(aws, request, requestId);
  if (reply === undefined) {
    // The simulated service is unreachable, so the connection is closed without an answer.
    exchange.request.socket.destroy();
    return;
  }
  exchange.response.writeHead(reply.status, {
    "content-type": reply.type,
    "content-length": Buffer.byteLength(reply.body),
    "x-amzn-requestid": requestId,
    ...reply.headers,
  });
  exchange.response.end(reply.body);
}

async function read(exchange: Exchange): Promise<Request> {
  const { method, signal, request } = exchange;
  const url = urlOf(exchange.url);
  const target = request.headers["x-amz-target"];
  return {
    method,
    path: url.pathname,
    search: url.searchParams,
    target: typeof target === "string" ? target : undefined,
    contentType: request.headers["content-type"] ?? "",
    body: (await exchange.readBody()).toString("utf8"),
    signal,
  };
}

/** Parses the path of a request. Two slashes at the beginning would otherwise be read as a host name. */
function urlOf(text: string): URL {
  const url = `http://aws.invalid/${text.replace(/^\/+/, "")}`;
  if (!URL.canParse(url)) throw new RequestRefusal(400, "the URL cannot be read");
  return new URL(url);
}

/** The answer to a request. Undefined means that none must be sent. */
function answer(
  aws: SimulatedAws,
  request: Request,
  requestId: string,
): Promise<Reply | undefined> {
  if (request.target !== undefined) return answerJson(aws, request, request.target);
  if (request.path !== "/") return answerRest(aws, request);
  const form = request.body === "" ? request.search : new URLSearchParams(request.body);
  return answerQuery(aws, form, requestId);
}

// --- query protocols ---------------------------------------------------------------------------

interface QueryProtocol {
  readonly service: string;
  readonly namespace: string;
  readonly requests: Shapes;
  readonly responses: Shapes;
  readonly isEc2: boolean;
}

const IAM_SHAPES = { requests: IAM_REQUESTS, responses: IAM_RESPONSES, isEc2: false };

const PROTOCOLS: ReadonlyMap<string, QueryProtocol> = new Map(
  Object.entries({
    "2016-11-15": {
      service: "ec2",
      namespace: "http://ec2.amazonaws.com/doc/2016-11-15/",
      requests: EC2_REQUESTS,
      responses: EC2_RESPONSES,
      isEc2: true,
    },
    "2010-05-08": {
      service: "iam",
      namespace: "https://iam.amazonaws.com/doc/2010-05-08/",
      ...IAM_SHAPES,
    },
    "2011-06-15": {
      service: "sts",
      namespace: "https://sts.amazonaws.com/doc/2011-06-15/",
      ...IAM_SHAPES,
    },
  }),
);

async function answerQuery(
  aws: SimulatedAws,
  form: URLSearchParams,
  requestId: string,
): Promise<Reply | undefined> {
  const action = form.get("Action") ?? "";
  const version = form.get("Version") ?? "";
  const protocol = PROTOCOLS.get(version);
  if (protocol === undefined) {
    const known = [...PROTOCOLS.keys()].join(", ");
    const message = `no simulated service has API version ${JSON.stringify(version)} (known: ${known})`;
    return queryError(true, new AwsError("InvalidRequest", message), requestId);
  }
  try {
    if (!protocol.requests.has(`${action}Request`)) {
      throw new AwsError(
        "InvalidAction",
        `The action ${action} is not valid for this web service.`,
      );
    }
    const infix = protocol.isEc2 ? "" : "member";
    const input = decodeQuery(form, protocol.requests, `${action}Request`, infix);
    const output = await aws.call(protocol.service, action, input);
    return { status: 200, type: "text/xml", body: envelope(protocol, action, output, requestId) };
  } catch (error) {
    return queryError(protocol.isEc2, toAwsError(error), requestId);
  }
}

function envelope(
  protocol: QueryProtocol,
  action: string,
  output: unknown,
  requestId: string,
): string {
  const open = `<?xml version="1.0" encoding="UTF-8"?>\n<${action}Response xmlns="${protocol.namespace}">`;
  const end = `</${action}Response>`;
  const item = protocol.isEc2 ? "item" : "member";
  const inner = encodeXml(output, protocol.responses, `${action}Result`, item);
  if (protocol.isEc2) {
    const content = output === undefined ? "<return>true</return>" : inner;
    return `${open}<requestId>${requestId}</requestId>${content}${end}`;
  }
  const result = `<${action}Result>${inner}</${action}Result>`;
  return `${open}${result}<ResponseMetadata><RequestId>${requestId}</RequestId></ResponseMetadata>${end}`;
}

function queryError(isEc2: boolean, error: AwsError, requestId: string): Reply | undefined {
  if (error.status === 0) return undefined;
  const code = `<Code>${escapeXml(error.code)}</Code>`;
  const message = `<Message>${escapeXml(error.message)}</Message>`;
  const body = isEc2
    ? `<Response><Errors><Error>${code}${message}</Error></Errors><RequestID>${requestId}</RequestID></Response>`
    : `<ErrorResponse><Error><Type>Sender</Type>${code}${message}</Error><RequestId>${requestId}</RequestId></ErrorResponse>`;
  return {
    status: error.status,
    type: "text/xml",
    body: `<?xml version="1.0" encoding="UTF-8"?>\n${body}`,
  };
}

// --- JSON protocols ----------------------------------------------------------------------------

const TARGETS: ReadonlyMap<string, string> = new Map([
  ["AmazonSSM", "ssm"],
  ["AWSPriceListService", "pricing"],
  ["AmazonSQS", "sqs"],
  ["AWSEvents", "events"],
  ["ServiceQuotasV20190624", "servicequotas"],
]);

async function answerJson(
  aws: SimulatedAws,
  request: Request,
  target: string,
): Promise<Reply | undefined> {
  const [prefix = "", action = ""] = target.split(".");
  // JSON 1.0 and 1.1 differ only in name. The answer has the request's content type.
  const type = request.contentType || "application/x-amz-json-1.1";
  try {
    const service = TARGETS.get(prefix);
    if (service === undefined || !aws.knows(service, action)) {
      const message = `no simulated service answers target ${target}`;
      throw new AwsError("UnknownOperationException", message);
    }
    const input = parseJson(request.body);
    if (!isObject(input))
      throw new AwsError("SerializationException", "the body is no JSON object");
    const output = await aws.call(service, action, input, request.signal);
    return { status: 200, type, body: JSON.stringify(output ?? {}) };
  } catch (error) {
    return jsonError(toAwsError(error), type, prefix === "AmazonSQS");
  }
}

function parseJson(text: string): unknown {
  try {
    return text === "" ? {} : parseBoundedJson(text);
  } catch (cause) {
    if (cause instanceof JsonLimitError)
      throw new AwsError("SerializationException", cause.message, 400, cause);
    throw new AwsError("SerializationException", "the body is no JSON", 400, cause);
  }
}

/** Older error codes of SQS. SQS still sends them in a header, and the CLI shows them. */
const OLD_SQS_CODES: Readonly<Record<string, string>> = {
  QueueDoesNotExist: "AWS.SimpleQueueService.NonExistentQueue",
  EmptyBatchRequest: "AWS.SimpleQueueService.EmptyBatchRequest",
  TooManyEntriesInBatchRequest: "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
  BatchEntryIdsNotDistinct: "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
};

function jsonError(error: AwsError, type: string, isSqs = false): Reply | undefined {
  if (error.status === 0) return undefined;
  if (isSqs) {
    const { code, message, status } = error;
    const old = `${OLD_SQS_CODES[code] ?? code};Sender`;
    const body = JSON.stringify({ __type: `com.amazonaws.sqs#${code}`, message });
    return { status, type, body, headers: { "x-amzn-query-error": old } };
  }
  return {
    status: error.status,
    type,
    body: JSON.stringify({ __type: error.code, message: error.message }),
    headers: { "x-amzn-errortype": error.code },
  };
}

async function answerRest(aws: SimulatedAws, request: Request): Promise<Reply | undefined> {
  const type = "application/json";
  try {
    const { method, path, search, body } = request;
    const { service, action, input } = restCall(method, path, search, parseJson(body));
    const output = await aws.call(service, action, input);
    return { status: 200, type, body: restBody(output) };
  } catch (error) {
    return jsonError(toAwsError(error), type);
  }
}

/**
 * The console over HTTP: the page, the stream of views, questions, and actions in a sandbox. Data needs a
 * cookie, which the browser gets for the token in the printed address. Requests from pages of other sites and
 * other ports are refused. See docs/designs/005-console.md.
 */
import { parseBoundedJson } from "../base/bounded-json.ts";
import { firstLineOf } from "../base/error-text.ts";
import { isObject } from "../base/json.ts";
import { jsonInSteps } from "../base/json-in-steps.ts";
import { inTurns } from "../base/steps.ts";
import { openEventStream, openLineStream } from "../listen/event-stream.ts";
import { type Exchange, RequestRefusal } from "../listen/exchange.ts";
import { decisionLines } from "./decision-lines.ts";
import type { ConsoleDoor } from "./door.ts";
import { ConsoleFeed, type ConsoleViewName, type FeedClock, VIEWS } from "./feed.ts";
import type {
  ConsoleQuestion,
  ConsoleScene,
  ConsoleSource,
  SimulationFollower,
  SimulationProgress,
  Supposition,
} from "./source.ts";
import type { NodeQuestion } from "./views/node-groups.ts";

export interface Asset {
  readonly contentType: string;
  readonly body: Buffer;
  /** The file compressed by gzip. Absent: the file is sent without compression. */
  readonly gzipped?: Buffer;
}

export interface ConsoleOptions {
  readonly source: ConsoleSource;
  readonly clock: FeedClock;
  /** The page's files by path, including `/`. */
  readonly assets: ReadonlyMap<string, Asset>;
  readonly door: ConsoleDoor;
}

export interface ConsoleHandler {
  handle(exchange: Exchange): Promise<void>;
  /** Opens the watches for a minute, so that the first page need not wait for lists. */
  warm(): Promise<void>;
  close(): void;
}

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

const MOST_BODY_BYTES = 16 * 1_024;
/** Largest question in bytes. It may contain NodePools. */
const MOST_QUESTION_BYTES = 256 * 1_024;

/** Most What if questions that are answered at the same time. They have no other limit. */
const MOST_SIMULATIONS = 4;

/** What all viewers share. */
interface Shared {
  readonly feed: ConsoleFeed;
  readonly clock: FeedClock;
  /** Number of What if questions that are being answered. */
  simulations: number;
}

/** Creates the handler for all viewers. `close` ends its watches. */
export function createConsole(options: ConsoleOptions): ConsoleHandler {
  const feed = new ConsoleFeed(options.source, options.clock);
  const shared: Shared = { feed, clock: options.clock, simulations: 0 };
  return {
    handle: async (exchange) => {
      refuseOtherSites(exchange);
      const asset = options.assets.get(exchange.path);
      if (asset !== undefined && exchange.method === "GET") return sendAsset(exchange, asset);
      return answer(exchange, options, shared);
    },
    warm: () => feed.warm(),
    close: () => feed.close(),
  };
}

/**
 * Refuses requests from pages of other ports. The listener accepts all of this machine, but for the console
 * another port is another site.
 */
function refuseOtherSites({ request, method }: Exchange): void {
  const { origin, host = "" } = request.headers;
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none")
    throw new RequestRefusal(403, "the call comes from a page of another site");
  if (origin !== undefined && origin !== `http://${host}`)
    throw new RequestRefusal(403, "the Origin header names another site");
  if (method === "GET") return;
  if (method !== "POST") throw new RequestRefusal(405, "wanted GET or POST");
  if (origin === undefined) throw new RequestRefusal(403, "a POST needs an Origin header");
}

async function answer(exchange: Exchange, options: ConsoleOptions, shared: Shared): Promise<void> {
  const { source } = options;
  const { feed } = shared;
  const route = `${exchange.method} ${exchange.path}`;
  if (route === "POST /api/login") return login(exchange, options);
  if (!exchange.path.startsWith("/api/")) throw new RequestRefusal(404, "not found");
  if (route === "GET /api/door") return sendJson(exchange, 200, { wants: options.door.wants });
  if (!(await isKnown(exchange, options)))
    throw new RequestRefusal(401, HOW_TO_ENTER[options.door.wants]);
  switch (route) {
    case "GET /api/about": {
      const { name, mode, acts } = source;
      return sendJson(exchange, 200, { name, mode, acts, views: VIEWS });
    }
    case "GET /api/stream":
      return stream(exchange, options, feed);
    case "GET /api/decisions":
      return decisions(exchange, options, feed);
    case "GET /api/explain":
      return ask(exchange, shared, (scene, query) => scene.explain(questionIn(query)));
    case "GET /api/simulate":
      return simulate(exchange, shared, suppositionIn);
    case "POST /api/simulate": {
      const asked = writtenSupposition(await readJson(exchange, MOST_QUESTION_BYTES));
      return simulate(exchange, shared, () => asked);
    }
    case "GET /api/nodes":
      return ask(exchange, shared, async (scene, query) => scene.nodes(nodesIn(query)));
    case "GET /api/editable":
      return ask(exchange, shared, (scene) => scene.editable());
    case "POST /api/pool-problems": {
      const { pools = "" } = stringsIn(await readJson(exchange, MOST_QUESTION_BYTES));
      return ask(exchange, shared, (scene) => ({ problems: scene.poolProblems(pools) }));
    }
    case "POST /api/act":
      return act(exchange, source);
    default:
      throw new RequestRefusal(404, "not found");
  }
}

function cookieName({ request }: Exchange): string {
  // Cookies do not distinguish ports, so the port is in the cookie's name. Otherwise two consoles on one
  // machine would overwrite each other's cookie.
  const port = /:(\d+)$/.exec(request.headers.host ?? "")?.[1] ?? "80";
  return `karpenter-console-${port}`;
}

const HOW_TO_ENTER = {
  address: "open the address that was printed at the start: it ends in a token",
  token: "log in at / with a token of the cluster",
} as const;

/** Whether the request has a valid cookie. Tools other than browsers may send the token itself instead. */
async function isKnown(exchange: Exchange, { door }: ConsoleOptions): Promise<boolean> {
  const name = cookieName(exchange);
  const bearer = /^Bearer (\S+)$/.exec(exchange.request.headers.authorization ?? "")?.[1];
  if (bearer !== undefined) return (await door.enter(bearer)) !== undefined;
  return (exchange.request.headers.cookie ?? "")
    .split(";")
    .map((one) => one.trim().split("="))
    .some(([key, value = ""]) => key === name && door.isKnown(value));
}

const NOT_LET_IN = {
  address: "the token is not the one that was printed",
  token: "the API server does not know the token, or does not let its user get /console",
} as const;

async function login(exchange: Exchange, { door }: ConsoleOptions): Promise<void> {
  const given = stringsIn(await readJson(exchange))["token"] ?? "";
  const value = await door.enter(given);
  if (value === undefined) throw new RequestRefusal(401, NOT_LET_IN[door.wants]);
  const cookie = `${cookieName(exchange)}=${value}; Path=/; HttpOnly; SameSite=Strict`;
  exchange.response.writeHead(204, { ...HEADERS, "set-cookie": cookie });
  exchange.response.end();
}

async function stream(
  exchange: Exchange,
  { clock }: ConsoleOptions,
  feed: ConsoleFeed,
): Promise<void> {
  const wanted = (queryOf(exchange).get("views") ?? "").split(",");
  const views = VIEWS.filter((name) => wanted.includes(name));
  const unknown = wanted.filter((name) => !VIEWS.includes(name as ConsoleViewName));
  if (unknown.length > 0)
    throw new RequestRefusal(400, `views: "${unknown[0]}": wanted some of ${VIEWS.join(", ")}`);
  let stop = (): void => undefined;
  const events = openEventStream(exchange, { clock, headers: HEADERS, over: () => stop() });
  stop = feed.watch(views, events);
}

async function decisions(
  exchange: Exchange,
  { clock }: ConsoleOptions,
  feed: ConsoleFeed,
): Promise<void> {
  let stop = (): void => undefined;
  const lines = openLineStream(exchange, { clock, headers: HEADERS, over: () => stop() });
  stop = feed.watch(["decisions"], {
    get isReady() {
      return lines.isReady;
    },
    send: (event, data) => {
      if (event !== "decisions") return;
      for (const line of decisionLines(data)) lines.send(event, line);
    },
  });
}

/** Answers a What if question. For a very large cluster this takes longer than other answers may. */
async function simulate(exchange: Exchange, shared: Shared, asked: Asked): Promise<void> {
  if (shared.simulations >= MOST_SIMULATIONS)
    throw new RequestRefusal(
      429,
      `${MOST_SIMULATIONS} What if questions are being answered; ask again in a minute`,
    );
  shared.simulations += 1;
  try {
    const { request, signal } = exchange;
    const isFollowed = /\bapplication\/x-ndjson\b/.test(request.headers.accept ?? "");
    const isGone = () => signal.aborted;
    await (isFollowed ? simulateFollowed : simulateAtOnce)(exchange, shared, { asked, isGone });
  } finally {
    shared.simulations -= 1;
  }
}

type Asked = (query: URLSearchParams) => Supposition;

interface AskedBy extends Pick<SimulationFollower, "isGone"> {
  readonly asked: Asked;
}

async function simulateAtOnce(
  exchange: Exchange,
  shared: Shared,
  { asked, isGone }: AskedBy,
): Promise<void> {
  exchange.lastsLong();
  const asker = { isGone, tell: () => undefined };
  await ask(exchange, shared, (scene, query) => scene.simulate(asked(query), asker));
}

/** Sends lines of JSON: how far the simulation has come, and at last the answer or the problem. */
async function simulateFollowed(
  exchange: Exchange,
  { feed, clock }: Shared,
  { asked, isGone }: AskedBy,
): Promise<void> {
  const lines = openLineStream(exchange, { clock, headers: HEADERS, over: () => undefined });
  const tell = (progress: SimulationProgress): void => {
    if (lines.isReady) lines.send("progress", JSON.stringify({ progress }));
  };
  try {
    const answer = await feed.ask((scene) =>
      scene.simulate(asked(queryOf(exchange)), { isGone, tell }),
    );
    lines.send("answer", await inTurns(clock, jsonInSteps({ answer }), TURN_MS));
  } catch (error) {
    lines.send("problem", JSON.stringify({ problem: firstLineOf(error) }));
  }
  lines.end();
}

/** Milliseconds of writing an answer, after which other work may run. */
const TURN_MS = 5;

/** Answers a question about the present scene. Large answers are written in turns. */
async function ask(
  exchange: Exchange,
  { feed, clock }: Shared,
  question: (scene: ConsoleScene, query: URLSearchParams) => unknown,
): Promise<void> {
  try {
    const found = await feed.ask((scene) => question(scene, queryOf(exchange)));
    sendText(exchange, 200, await inTurns(clock, jsonInSteps(found), TURN_MS));
  } catch (error) {
    sendJson(exchange, 404, { problem: firstLineOf(error) });
  }
}

function questionIn(query: URLSearchParams): ConsoleQuestion {
  return {
    kind: query.get("kind") ?? "",
    name: query.get("name") ?? "",
    namespace: query.get("namespace") ?? "default",
  };
}

function nodesIn(query: URLSearchParams): NodeQuestion {
  return { group: query.get("group") ?? undefined, filter: query.get("filter") ?? "" };
}

function suppositionIn(query: URLSearchParams): Supposition {
  return {
    nodes: query.getAll("node"),
    zones: query.getAll("zone"),
    consolidate: query.has("consolidate"),
  };
}

/** Parses a question from JSON. Values of a wrong type are ignored. */
function writtenSupposition(value: unknown): Supposition {
  const fields = isObject(value) ? value : {};
  const list = (name: string): readonly string[] => {
    const given = fields[name];
    return Array.isArray(given) ? given.filter((one) => typeof one === "string") : [];
  };
  return {
    nodes: list("nodes"),
    zones: list("zones"),
    consolidate: fields["consolidate"] === true,
    prices: list("prices"),
    scales: list("scales"),
    pools: stringsIn(value)["pools"] ?? "",
  };
}

async function act(exchange: Exchange, source: ConsoleSource): Promise<void> {
  const { name = "", ...values } = stringsIn(await readJson(exchange));
  if (!source.acts.some((one) => one.name === name))
    throw new RequestRefusal(source.acts.length === 0 ? 403 : 400, `"${name}" cannot be done here`);
  try {
    sendJson(exchange, 200, { says: await source.act(name, values) });
  } catch (error) {
    sendJson(exchange, 400, { problem: firstLineOf(error) });
  }
}

async function readJson(exchange: Exchange, mostBytes = MOST_BODY_BYTES): Promise<unknown> {
  if (!/^application\/json\b/.test(exchange.request.headers["content-type"] ?? ""))
    throw new RequestRefusal(415, "wanted application/json");
  const body = await exchange.readBody(mostBytes);
  try {
    return parseBoundedJson(body.toString("utf8"));
  } catch (error) {
    throw new RequestRefusal(400, `the body is not JSON: ${firstLineOf(error)}`);
  }
}

/** The members of an object that are text. Nothing for other values. */
function stringsIn(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null) return {};
  const strings = Object.entries(value).filter((one) => typeof one[1] === "string");
  return Object.fromEntries(strings) as Record<string, string>;
}

function queryOf({ url }: Exchange): URLSearchParams {
  return new URLSearchParams(url.split("?")[1] ?? "");
}

function sendJson(exchange: Exchange, status: number, value: unknown): void {
  sendText(exchange, status, JSON.stringify(value));
}

function sendText({ response }: Exchange, status: number, json: string): void {
  response.writeHead(status, {
    ...HEADERS,
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
  });
  response.end(json);
}

function sendAsset({ request, response }: Exchange, { contentType, body, gzipped }: Asset): void {
  const zips = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const isZipped = zips && gzipped !== undefined;
  response.writeHead(200, {
    ...HEADERS,
    "content-type": contentType,
    "cache-control": "no-cache",
    ...(isZipped ? { "content-encoding": "gzip" } : {}),
  });
  response.end(isZipped ? gzipped : body);
}

import { request } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import type { Logger } from "../base/log.ts";
import { atOnce } from "../base/steps.ts";
import { SystemClock } from "../base/system-clock.ts";
import type { FleetNode } from "../core/answers/fleet.ts";
import { type Listener, startListener } from "../listen/listener.ts";
import { addressDoor } from "./door.ts";
import { createConsole } from "./serve.ts";
import type { ConsoleScene, ConsoleSource, SandboxAct, SimulationProgress } from "./source.ts";
import { listedNodesInSteps, type NodeQuestion } from "./views/node-groups.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const HOSTILE = `<img src=x onerror=alert(1)>\u202e\u001b]8;;x`;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

function source(acts: readonly SandboxAct[], scene?: Partial<ConsoleScene>): ConsoleSource {
  return {
    name: HOSTILE,
    mode: acts.length > 0 ? "sandbox" : "cluster",
    acts,
    act: async (name, values) => `${name} ${JSON.stringify(values)}`,
    open: () => () => undefined,
    scene: async () => {
      if (scene === undefined) throw new Error("no cluster");
      return scene as ConsoleScene;
    },
  };
}

async function serve(acts: readonly SandboxAct[] = [], scene?: Partial<ConsoleScene>) {
  const logged: string[] = [];
  const write = (message: string, fields?: object) => {
    logged.push(`${message} ${JSON.stringify(fields)}`);
  };
  const log = { debug: write, info: write, warn: write, error: write } as unknown as Logger;
  const clock = new SystemClock();
  const handler = createConsole({
    source: source(acts, scene),
    clock,
    door: addressDoor(TOKEN, (a, b) => a === b),
    assets: new Map([["/", { contentType: "text/html", body: Buffer.from("<!doctype html>") }]]),
  });
  const listener = await startListener({
    name: "console",
    port: 0,
    host: "127.0.0.1",
    log,
    handle: (exchange) => handler.handle(exchange),
  });
  open.push(async () => {
    handler.close();
    await listener.close();
  });
  return { logged, listener };
}

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** The stream ends by itself, so all of it is the answer. */
  readonly whole?: boolean;
}

/** The objects of lines of JSON. Empty lines keep the connection alive. */
function linesOf(text: string): unknown[] {
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
}

function ask(
  { port }: Listener,
  path: string,
  { method = "GET", headers = {}, body, whole = false }: Asked = {},
): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: "127.0.0.1", path, method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        // Other streams do not end by themselves, so the first part is taken as the answer.
        if (!whole && /event-stream|ndjson/.test(response.headers["content-type"] ?? ""))
          response.destroy();
      });
      response.on("close", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    call.on("error", reject);
    call.end(body);
  });
}

const JSON_TYPE = { "content-type": "application/json" };
const cookie = ({ port }: Listener) => ({ cookie: `karpenter-console-${port}=${TOKEN}` });
const origin = ({ port }: Listener) => ({ origin: `http://127.0.0.1:${port}` });

describe("the console's HTTP server", () => {
  it("gives the page without data to everybody on this machine, with a strict policy", async () => {
    const { listener } = await serve();
    const { status, headers, text } = await ask(listener, "/");
    expect([status, text]).toEqual([200, "<!doctype html>"]);
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
  });

  it("answers four What if questions at a time, and refuses a fifth", async () => {
    const waiting: (() => void)[] = [];
    const simulate = () => new Promise<unknown>((resolve) => waiting.push(() => resolve({})));
    const { listener } = await serve([], { simulate });
    const what = () => ask(listener, "/api/simulate?node=a", { headers: cookie(listener) });
    const answers = [what(), what(), what(), what()];
    await expect.poll(() => waiting.length).toBe(4);
    const fifth = await what();
    expect(fifth.status).toBe(429);
    expect(fifth.text).toContain("4 What if questions are being answered; ask again in a minute");
    for (const end of waiting.splice(0)) end();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const later = what();
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.();
    expect((await later).status).toBe(200);
  });

  it("sends how far a simulation has come before its answer, to a client that asks for lines", async () => {
    const simulate: ConsoleScene["simulate"] = async (_, { tell }) => {
      tell({ commands: 3, nodes: 7 } as SimulationProgress);
      return { says: "done" };
    };
    const { listener } = await serve([], { simulate });
    const headers = { ...cookie(listener), accept: "application/x-ndjson" };
    const { status, text } = await ask(listener, "/api/simulate?node=a", { headers, whole: true });
    expect(status).toBe(200);
    expect(linesOf(text)).toEqual([
      { progress: { commands: 3, nodes: 7 } },
      { answer: { says: "done" } },
    ]);
    const failing = await serve([], { simulate: () => Promise.reject(new Error("no such node")) });
    const own = { ...cookie(failing.listener), accept: "application/x-ndjson" };
    const told = await ask(failing.listener, "/api/simulate", { headers: own, whole: true });
    expect(linesOf(told.text)).toEqual([{ problem: "no such node" }]);
  });

  it.each(["application/json", "application/x-ndjson"])(
    "tells the simulation when its caller hangs up (%s)",
    async (accept) => {
      let isGone: (() => boolean) | undefined;
      const simulate: ConsoleScene["simulate"] = (_, asker) => {
        isGone = asker.isGone;
        return new Promise(() => undefined);
      };
      const { listener } = await serve([], { simulate });
      const call = request({
        host: "127.0.0.1",
        port: listener.port,
        path: "/api/simulate?node=a",
        headers: { ...cookie(listener), accept },
      });
      call.on("error", () => undefined);
      call.end();
      await expect.poll(() => isGone?.()).toBe(false);
      call.destroy();
      await expect.poll(() => isGone?.()).toBe(true);
    },
  );

  it.each(["/api/about", "/api/stream?views=map", "/api/explain?kind=node&name=a"])(
    "refuses %s without the cookie and with a wrong cookie",
    async (path) => {
      const { listener } = await serve();
      expect((await ask(listener, path)).status).toBe(401);
      const headers = { cookie: `karpenter-console-${listener.port}=${"0".repeat(32)}` };
      expect((await ask(listener, path, { headers })).status).toBe(401);
    },
  );

  it("exchanges the token for a cookie that scripts cannot read, and never logs the token", async () => {
    const { listener, logged } = await serve();
    const headers = { ...JSON_TYPE, ...origin(listener) };
    const login = (token: string) =>
      ask(listener, "/api/login", { method: "POST", headers, body: JSON.stringify({ token }) });
    expect((await login("wrong")).status).toBe(401);
    const { status, headers: answered } = await login(TOKEN);
    expect(status).toBe(204);
    expect(String(answered["set-cookie"])).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.join("\n")).not.toContain(TOKEN);
  });

  it.each([
    ["another host (DNS rebinding)", { host: "evil.example" }],
    ["a page of another site", { "sec-fetch-site": "cross-site" }],
    ["a page on another port of this machine", { "sec-fetch-site": "same-site" }],
    ["an origin on another port", { origin: "http://127.0.0.1:1" }],
    ["an opaque origin", { origin: "null" }],
  ])("refuses requests of %s, even with the cookie", async (_, headers) => {
    const { listener } = await serve();
    const all = { ...cookie(listener), ...headers };
    expect((await ask(listener, "/api/about", { headers: all })).status).toBe(403);
  });

  it("accepts an action only in a sandbox, and only from its own page", async () => {
    const acts = [{ name: "scale", label: "Scale", wants: ["replicas"] }];
    const body = JSON.stringify({ name: "scale", replicas: "3" });
    const sandbox = (await serve(acts)).listener;
    const cluster = (await serve()).listener;
    const post = (listener: Listener, headers: Record<string, string>) =>
      ask(listener, "/api/act", { method: "POST", headers: { ...JSON_TYPE, ...headers }, body });
    const own = (listener: Listener) => ({ ...cookie(listener), ...origin(listener) });
    expect(await post(sandbox, own(sandbox))).toMatchObject({
      status: 200,
      text: JSON.stringify({ says: `scale {"replicas":"3"}` }),
    });
    expect((await post(sandbox, cookie(sandbox))).status).toBe(403);
    expect((await post(sandbox, origin(sandbox))).status).toBe(401);
    expect((await post(cluster, own(cluster))).status).toBe(403);
    const form = { ...own(sandbox), "content-type": "text/plain" };
    expect((await post(sandbox, form)).status).toBe(415);
    const nested = { headers: { ...JSON_TYPE, ...own(sandbox) }, body: "[".repeat(9_000) };
    expect((await ask(sandbox, "/api/act", { method: "POST", ...nested })).status).toBe(400);
  });

  it("sends hostile names as JSON that no browser reads as a page", async () => {
    const { listener } = await serve();
    const { headers, text } = await ask(listener, "/api/about", { headers: cookie(listener) });
    expect(JSON.parse(text)).toMatchObject({ name: HOSTILE });
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(String(headers["content-type"])).toMatch(/^application\/json/);
  });

  it("answers a failed question with a sentence, and an unknown view with the known ones", async () => {
    const { listener } = await serve();
    const headers = cookie(listener);
    const explained = await ask(listener, "/api/explain?kind=node&name=a", { headers });
    expect([explained.status, explained.text]).toEqual([404, `{"problem":"no cluster"}`]);
    const stream = await ask(listener, "/api/stream?views=secrets", { headers });
    expect(stream.status).toBe(400);
    expect(stream.text).toContain("map, money");
  });

  it("opens a stream of events", async () => {
    const { listener } = await serve();
    const headers = cookie(listener);
    const { status, headers: answered } = await ask(listener, "/api/stream?views=map", { headers });
    expect([status, answered["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
  });

  it("sends decisions as lines to a client with the token, and to no other", async () => {
    const { listener } = await serve();
    const asked = async (authorization: string) => {
      const { status, headers } = await ask(listener, "/api/decisions", {
        headers: { authorization },
      });
      return [status, headers["content-type"]];
    };
    expect(await asked(`Bearer ${TOKEN}`)).toEqual([200, "application/x-ndjson; charset=utf-8"]);
    expect((await asked("Bearer another"))[0]).toBe(401);
    expect((await asked(""))[0]).toBe(401);
  });
});

describe("the console's list of nodes", () => {
  const sums = { allocatable: { cpu: 4_000 }, requested: { cpu: 1_000 }, pods: 2 };
  const nodes = ["a", "b", HOSTILE].map(
    (name, at): FleetNode => ({
      name,
      state: "running",
      ...(at === 0 ? {} : { nodePool: "general", capacityType: "spot" }),
      ...sums,
    }),
  );

  /** The names of the listed nodes for a query, and the questions that the scene received. */
  async function list(query: string) {
    const asked: NodeQuestion[] = [];
    const { listener } = await serve([], {
      nodes: async (question) => {
        asked.push(question);
        return atOnce(listedNodesInSteps({ nodes }, question));
      },
    });
    const headers = cookie(listener);
    const {
      status,
      headers: answered,
      text,
    } = await ask(listener, `/api/nodes${query}`, { headers });
    const { total, rows } = JSON.parse(text) as { total: number; rows: object };
    return { status, type: answered["content-type"], asked, total, names: Object.keys(rows) };
  }

  it("has the nodes of a group or of a filter, and all nodes without a question", async () => {
    expect(await list("")).toEqual({
      status: 200,
      type: "application/json; charset=utf-8",
      asked: [{ group: undefined, filter: "" }],
      total: 3,
      names: ["a", "b", HOSTILE],
    });
    expect(await list("?group=general%2Fspot&filter=b+running")).toMatchObject({
      asked: [{ group: "general/spot", filter: "b running" }],
      names: ["b"],
    });
    // An empty key selects the nodes without a NodePool.
    expect((await list("?group=")).names).toEqual(["a"]);
  });

  it.each([
    ["a name of JavaScript", "?group=__proto__"],
    ["bytes that are no text", "?filter=%00%ff%E0%A4%A"],
    ["thousands of parts", `?group=${"/".repeat(4_000)}`],
    ["thousands of words", `?filter=${"a+".repeat(2_000)}zz`],
    ["a regular expression", "?filter=(.*)*%24"],
  ])("is empty for %s", async (_, query) => {
    expect(await list(query)).toMatchObject({ status: 200, total: 0, names: [] });
  });

  it("is refused without the cookie", async () => {
    const { listener } = await serve();
    expect((await ask(listener, "/api/nodes")).status).toBe(401);
  });
});

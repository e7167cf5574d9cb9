import { afterEach, describe, expect, it } from "vitest";
import { SILENT } from "../../base/log.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { type Listener, startListener } from "../../listen/listener.ts";
import { createProfiling } from "./profiling.ts";

let listener: Listener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

async function serve(): Promise<(path: string, token?: string) => Promise<Response>> {
  const handle = createProfiling({
    clock: new SystemClock(),
    review: (token, path) => {
      if (token === "broken") return Promise.reject(new Error("no API server"));
      return Promise.resolve(token === "good" && path !== "/debug/pprof/heap");
    },
  });
  listener = await startListener({ name: "test", port: 0, host: "127.0.0.1", handle, log: SILENT });
  const { port } = listener;
  return (path, token) =>
    fetch(`http://127.0.0.1:${port}/debug/pprof/${path}`, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
}

describe("profiles", () => {
  it("of the CPU name the functions that ran", async () => {
    const ask = await serve();
    const answer = await ask("profile?seconds=0.05", "good");
    expect(answer.status).toBe(200);
    const { nodes, samples } = (await answer.json()) as { nodes: unknown[]; samples: unknown[] };
    expect(nodes.length).toBeGreaterThan(0);
    expect(samples.length).toBeGreaterThan(0);
  });

  it("of memory are figures", async () => {
    const ask = await serve();
    const answer = (await (await ask("memory", "good")).json()) as { heap: Record<string, number> };
    expect(answer.heap["heap_size_limit"]).toBeGreaterThan(1e6);
  });

  it("are recorded one at a time: another request gets 409", async () => {
    const ask = await serve();
    const [first, second] = await Promise.all([
      ask("profile?seconds=0.3", "good"),
      ask("profile?seconds=0.3", "good"),
    ]);
    expect([first.status, second.status].sort()).toEqual([200, 409]);
    expect((await ask("profile?seconds=0.01", "good")).status).toBe(200);
  });

  it.each([
    ["no token", "memory", undefined, 401],
    ["an unknown token", "memory", "bad", 403],
    ["a path that the bearer may not get", "heap?seconds=0.01", "good", 403],
    ["an API server that does not answer", "memory", "broken", 503],
    ["too long", "profile?seconds=121", "good", 400],
    ["no number", "profile?seconds=x", "good", 400],
    ["no such profile", "goroutine", "good", 404],
  ] as const)("are refused: %s", async (_, path, token, status) => {
    const ask = await serve();
    const answer = await ask(path, token);
    expect(answer.status).toBe(status);
    expect((await answer.text()).length).toBeGreaterThan(5);
  });
});

import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { withServerClock } from "./server-clock.ts";
import type { Transport } from "./transport.ts";

const HOUR_MS = 3_600_000;

describe("the API server's clock", () => {
  it("is known between two responses, also if this machine's clock jumps", async () => {
    const clock = new VirtualClock();
    const headers = { date: new Date(clock.now()).toUTCString() };
    const send: Transport["send"] = async () => ({ status: 200, headers, body: {} });
    const server = withServerClock({ send, close: () => undefined }, clock);
    expect(server.skewMs()).toBeUndefined();
    await server.transport.send({ method: "GET", path: "/" });
    await clock.advance(HOUR_MS);
    expect(server.skewMs()).toBe(0);
    clock.setBack(2 * HOUR_MS);
    expect(server.skewMs()).toBe(-2 * HOUR_MS);
    clock.setBack(-5 * HOUR_MS);
    expect(server.skewMs()).toBe(3 * HOUR_MS);
  });

  it("differs most of those of two replicas that answer in turn, until a minute after the wrong one", async () => {
    const clock = new VirtualClock();
    let behindMs = 0;
    const send: Transport["send"] = async () => {
      const date = new Date(clock.now() - behindMs).toUTCString();
      return { status: 200, headers: { date }, body: {} };
    };
    const server = withServerClock({ send, close: () => undefined }, clock);
    const ask = async (ms: number) => {
      behindMs = ms;
      await server.transport.send({ method: "GET", path: "/" });
      await clock.advance(1_000);
      return server.skewMs();
    };
    expect(await ask(0)).toBe(0);
    for (let times = 0; times < 5; times++)
      expect([await ask(HOUR_MS), await ask(0)]).toEqual([HOUR_MS, HOUR_MS]);
    await clock.advance(58_000);
    expect(await ask(0)).toBe(0);
  });

  it("is not behind because an answer took half a minute", async () => {
    const clock = new VirtualClock();
    let tookMs = 0;
    const send: Transport["send"] = async () => {
      const date = new Date(clock.now()).toUTCString();
      await clock.advance(tookMs);
      return { status: 200, headers: { date }, body: {} };
    };
    const server = withServerClock({ send, close: () => undefined }, clock);
    const ask = async (ms: number) => {
      tookMs = ms;
      await server.transport.send({ method: "GET", path: "/" });
      return server.skewMs();
    };
    expect([await ask(0), await ask(30_000), await ask(0)]).toEqual([0, 0, 0]);
  });
});

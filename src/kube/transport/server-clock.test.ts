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
});

/** Opens the console on loopback and returns its address. */
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Logger } from "../../base/log.ts";
import { SystemClock } from "../../base/system-clock.ts";
import { addressDoor, reviewDoor } from "../../console/door.ts";
import { createConsole } from "../../console/serve.ts";
import type { ConsoleSource } from "../../console/source.ts";
import { startListener } from "../../listen/listener.ts";
import { dashboardFiles } from "./page.ts";

export interface ServedConsole {
  /** The address with the token. Print it only on the terminal of the user, never in a log. */
  readonly url: string;
  /** Opens the watches for a minute, before the first viewer. */
  warm(): Promise<void>;
  close(): Promise<void>;
}

const TOKEN_BYTES = 16;

/** Each page uses one connection and loads a few files. */
export const CONSOLE_LIMITS = { maxConnections: 64, maxRequests: 32, sharePercent: 100 } as const;

/** Milliseconds in which clients can read the end of their streams before their connections are cut. */
const GRACE_MS = 1_000;

export interface ServeOptions {
  /** The port on which the console listens. 0 means any free port. */
  readonly port: number;
  readonly log: Logger;
  /** Whether the bearer of a token may read the console; if absent, all who know the printed address may. */
  readonly review?: (token: string) => Promise<boolean>;
}

/** Starts to serve the console page. Rejects with PortError if the port cannot be used. */
export async function serveConsole(
  source: ConsoleSource,
  { port, log, review }: ServeOptions,
): Promise<ServedConsole> {
  const clock = new SystemClock();
  const draw = () => randomBytes(TOKEN_BYTES).toString("hex");
  const token = draw();
  const door =
    review === undefined ? addressDoor(token, isEqual) : reviewDoor({ review, clock, draw });
  const handler = createConsole({ source, clock, assets: dashboardFiles(), door });
  const listener = await startListener({
    name: "console",
    port,
    host: "127.0.0.1",
    limits: CONSOLE_LIMITS,
    handle: (exchange) => handler.handle(exchange),
    log,
  });
  return {
    url: `http://127.0.0.1:${listener.port}/${review === undefined ? `#${token}` : ""}`,
    warm: handler.warm,
    close: async () => {
      handler.close();
      await listener.close(GRACE_MS);
    },
  };
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

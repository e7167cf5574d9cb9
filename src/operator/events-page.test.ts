import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as disruption from "../controllers/disruption/events.ts";
import * as draining from "../controllers/node/events.ts";
import * as claims from "../controllers/nodeclaim/events.ts";
import * as planning from "../controllers/provisioning/events.ts";
import * as aws from "../providers/aws/events.ts";
import * as interruption from "../providers/aws/interruption/reactions.ts";
import { eventsPage, sampleEvents } from "./events-page.ts";

describe("events page", () => {
  it("has each event that the code can build", () => {
    const page = readFileSync(new URL("./events-page.ts", import.meta.url), "utf8");
    const all = { disruption, draining, claims, planning, aws, interruption };
    const left = Object.entries(all).flatMap(([alias, builders]) =>
      Object.keys(builders)
        .filter((name) => typeof (builders as Record<string, unknown>)[name] === "function")
        .map((name) => `${alias}.${name}(`)
        .filter((call) => !page.includes(call)),
    );
    expect(left).toEqual([]);
  });

  it("shows reasons as they are and placeholders for what varies", () => {
    const page = eventsPage();
    for (const { reason } of sampleEvents()) expect(page).toContain(`| \`${reason}\` |`);
    expect(page).toContain("`Failed to schedule pod, <why>`");
    expect(page).not.toContain("2001");
    expect(page).not.toContain("undefined");
  });
});

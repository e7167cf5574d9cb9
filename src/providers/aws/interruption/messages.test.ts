import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseMessage } from "./messages.ts";

const FOLDER = fileURLToPath(new URL("../../../../test/fixtures/seeds/messages/", import.meta.url));
const ID = "i-0123456789abcdef0";

function body(event: Record<string, unknown>): string {
  const envelope = { version: "0", id: "x", account: "111122223333", resources: [], detail: {} };
  return JSON.stringify({ ...envelope, ...event });
}

function stateChange(state: unknown): string {
  const detail = { "instance-id": ID, state };
  const type = "EC2 Instance State-change Notification";
  return body({ source: "aws.ec2", "detail-type": type, detail });
}

function health(detail: Record<string, unknown>): string {
  const base = { service: "EC2", eventTypeCategory: "scheduledChange" };
  const event = { source: "aws.health", "detail-type": "AWS Health Event" };
  return body({ ...event, detail: { ...base, ...detail } });
}

describe("messages of the interruption queue", () => {
  it.each([
    ["spot-interruption.json", "spot_interrupted"],
    ["rebalance-recommendation.json", "rebalance_recommendation"],
    ["health-scheduled-change.json", "scheduled_change"],
    ["state-change-stopping.json", "instance_stopped"],
  ])("S4-35: parse %s as %s of its instance", (file, kind) => {
    const message = parseMessage(readFileSync(FOLDER + file, "utf8"));
    expect(message).toEqual({ kind, instanceIds: [ID] });
  });

  it("parse the interruption of an instance in a reservation", () => {
    const type = "EC2 Capacity Reservation Instance Interruption Warning";
    const detail = { "instance-id": ID, "instance-action": "terminate" };
    expect(parseMessage(body({ source: "aws.ec2", "detail-type": type, detail }))).toEqual({
      kind: "capacity_reservation_interrupted",
      instanceIds: [ID],
    });
  });

  it.each([
    ["stopping", "instance_stopped"],
    ["stopped", "instance_stopped"],
    ["shutting-down", "instance_terminated"],
    ["terminated", "instance_terminated"],
    ["Terminated", "instance_terminated"],
    ["running", "no_op"],
    ["pending", "no_op"],
  ])("S4-38: parse a change to %s as %s", (state, kind) => {
    const message = parseMessage(stateChange(state));
    expect(message.kind).toBe(kind);
    expect(message.complaint).toBeUndefined();
  });

  it("parse each instance of a health event, once", () => {
    const entities = ["i-b", "i-a", "i-b"].map((entityValue) => ({ entityValue }));
    expect(parseMessage(health({ affectedEntities: entities })).instanceIds).toEqual([
      "i-a",
      "i-b",
    ]);
  });

  it.each([
    ["another service", { service: "RDS" }],
    ["news that are no scheduled change", { eventTypeCategory: "issue" }],
  ])("ignore health events of %s", (_, detail) => {
    expect(parseMessage(health(detail))).toEqual({ kind: "no_op", instanceIds: [] });
  });

  it.each([
    ["a source it does not know", readFileSync(`${FOLDER}unknown.json`, "utf8"), /aws\.example/],
    ["another version of the envelope", stateChange("stopped").replace('"0"', '"1"'), /"1"/],
    ["SQS's own test message", '{"Service":"Amazon S3"}', /version undefined/],
  ])("S4-26: cause no action for %s, with a log line", (_, text, complaint) => {
    const message = parseMessage(text);
    expect(message).toMatchObject({ kind: "no_op", instanceIds: [] });
    expect(message.complaint).toMatch(complaint);
  });

  it("do not mistake names of a prototype for states, or objects for sources", () => {
    expect(parseMessage(stateChange("constructor"))).toEqual({ kind: "no_op", instanceIds: [] });
    const odd = JSON.stringify({ version: "0", source: { toString: 5 }, "detail-type": [] });
    expect(parseMessage(odd).complaint).toContain('source {"toString":5}');
  });

  it.each([
    ["no text", "", /no JSON/],
    ["half a JSON", '{"token": hunter2', /^the body is no JSON \(17 characters\)$/],
    ["null", "null", /no JSON object/],
    ["a list", "[]", /no JSON object/],
    ["an event without its instance", stateChange("stopped").replace(ID, ""), /instance-id/],
    ["a state that is a number", stateChange(7), /detail\.state must be/],
    ["a health event without entities", health({}), /affectedEntities/],
    [
      "a detail that is text",
      body({ source: "aws.health", "detail-type": "AWS Health Event", detail: "x" }),
      /detail/,
    ],
  ])("S4-26: are logged as invalid: %s", (_, text, complaint) => {
    const message = parseMessage(text);
    expect(message.kind).toBe("unreadable");
    expect(message.complaint).toMatch(complaint);
  });

  it("show only the beginning of invalid values in the log", () => {
    const { complaint = "" } = parseMessage(stateChange({ long: "x".repeat(10_000) }));
    expect(complaint.length).toBeLessThan(300);
  });
});

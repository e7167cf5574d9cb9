/**
 * Every recorded answer of kube-apiserver about a built-in kind survives encoding to protobuf and back.
 * `test/cluster/clients` shows for every kind that Go reads the same from our protobuf as from our JSON.
 */
import { describe, expect, it } from "vitest";
import { isObject } from "../../src/base/json.ts";
import { decodeProtobuf } from "../../src/sandbox/apiserver/protobuf/decode.ts";
import {
  encodeProtobuf,
  encodeWatchFrame,
  isEncodable,
} from "../../src/sandbox/apiserver/protobuf/encode.ts";
import { CHECKS } from "./apiserver/checks.ts";
import { readRecording } from "./apiserver/recorded.ts";

type Json = Record<string, unknown>;

/** Every recorded object whose kind has a protobuf message. */
function recordedObjects(): readonly (readonly [string, Json])[] {
  return Object.keys(CHECKS).flatMap((group) =>
    Object.entries(readRecording(group).checks).flatMap(([id, answers]) =>
      answers.flatMap(({ status, body }, index): (readonly [string, Json])[] => {
        if (status >= 300 || !isObject(body)) return [];
        const { apiVersion, kind } = body as { apiVersion?: string; kind?: string };
        if (apiVersion === undefined || kind === undefined || !isEncodable(apiVersion, kind))
          return [];
        // Items of such a list do not name their kind in protobuf, so they cannot be compared.
        if (kind === "PartialObjectMetadataList") return [];
        return [[`${id}.${index + 1} ${kind}`, readable(body) as Json]];
      }),
    ),
  );
}

/**
 * Replaces placeholders of a recording by valid values, and drops empty fields: protobuf cannot tell them from
 * missing ones.
 */
function readable(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => readable(one));
  if (isObject(value)) {
    const fields = Object.entries(value)
      // In a map such as `data`, an empty value counts.
      .filter(([, field]) => name === "data" || !isNothing(field))
      .map(([name, field]) => [name, name === "fieldsV1" ? field : readable(field, name)]);
    return Object.fromEntries(fields);
  }
  if (value === "<ca>") return "Y2E=";
  if (value === "<port>") return 30_000;
  if (value !== "<time>") return value;
  return name === "eventTime" ? "2026-01-02T03:04:05.000000Z" : "2026-01-02T03:04:05Z";
}

function isNothing(value: unknown): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

describe("the protobuf encoding of objects", () => {
  const objects = recordedObjects();

  it("decodes to every recorded object", () => {
    expect(objects.length).toBeGreaterThan(150);
    for (const [what, object] of objects) {
      const back = decodeProtobuf(encodeProtobuf(object));
      expect.soft(readable(back), what).toEqual(object);
    }
  });

  it("frames an event by its length in four bytes", () => {
    const body = encodeProtobuf({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } });
    const frame = Buffer.from(encodeWatchFrame("ADDED", body));
    expect(frame.readUInt32BE(0)).toBe(frame.length - 4);
    expect(frame.subarray(4, 11).toString("latin1")).toBe("\n\u0005ADDED");
    expect(frame.includes(Buffer.from(body))).toBe(true);
  });

  it("is not used for kinds of other groups, whatever their names", () => {
    expect(isEncodable("apps/v1", "Deployment")).toBe(true);
    expect(isEncodable("apps.example.com/v1", "Deployment")).toBe(false);
    expect(isEncodable("karpenter.sh/v1", "NodePool")).toBe(false);
  });
});

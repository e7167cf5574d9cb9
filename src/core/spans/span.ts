/**
 * A span: one piece of work in a trace, as OpenTelemetry defines it. Its ids are computed from the UID of a NodeClaim
 * or the id of a disruption command. So a person who knows that object can find its trace.
 */
import { fnv64Text } from "../../base/fnv.ts";

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span as plain JSON. */
export interface TraceSpan {
  /** The id of the trace: 32 hexadecimal digits. */
  readonly traceId: string;
  /** The id of the span: 16 hexadecimal digits. */
  readonly spanId: string;
  /** The id of the parent span. Absent: the span is the root. */
  readonly parentId?: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  /** Why the work did not complete. Absent: it completed. */
  readonly problem?: string;
  /** Ids of related traces. */
  readonly links: readonly string[];
}

const UUID_HEX = /^(?!0{32})[0-9a-f]{32}$/;

/** The trace id for an object: its UUID without dashes, or a digest of any other text. */
export function traceIdOf(uid: string): string {
  const hex = uid.replaceAll("-", "").toLowerCase();
  return UUID_HEX.test(hex) ? hex : digits(uid) + digits(`${uid}/`);
}

/** The id of a span. `path` names the span within its trace. Empty: the root. */
export function spanIdOf(traceId: string, path: string): string {
  return digits(`${traceId}/${path}`);
}

function digits(text: string): string {
  return fnv64Text(text).toString(16).padStart(16, "0");
}

/** The fields of a span except its ids. */
export interface SpanPart {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes?: SpanAttributes;
  readonly problem?: string | undefined;
  readonly links?: readonly string[];
}

/** Collects the spans of one trace: a root, and parts below the root or below other parts. */
export class SpanTree {
  readonly traceId: string;
  readonly #spans: TraceSpan[] = [];

  constructor(uid: string) {
    this.traceId = traceIdOf(uid);
  }

  /**
   * Adds a part. `path` must be unique in the trace; the text before its last `/` is the path of the parent. A part
   * whose end is before its start gets length zero.
   */
  add(
    path: string,
    { name, startMs, endMs, attributes = {}, problem, links = [] }: SpanPart,
  ): void {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    this.#spans.push({
      traceId: this.traceId,
      spanId: spanIdOf(this.traceId, path),
      parentId: spanIdOf(this.traceId, parent),
      name,
      startMs,
      endMs: Math.max(startMs, endMs),
      attributes,
      ...(problem === undefined ? {} : { problem }),
      links,
    });
  }

  /** All spans: the root, which lasts from the first start to the last end of the parts, and the parts. */
  under({
    name,
    attributes = {},
    problem,
    links = [],
  }: Omit<SpanPart, "startMs" | "endMs">): TraceSpan[] {
    const startMs = Math.min(...this.#spans.map((span) => span.startMs));
    const endMs = Math.max(...this.#spans.map((span) => span.endMs));
    const { traceId } = this;
    const failed = problem === undefined ? {} : { problem };
    const spanId = spanIdOf(traceId, "");
    return [
      { traceId, spanId, name, startMs, endMs, attributes, ...failed, links },
      ...this.#spans,
    ];
  }
}

/** The attributes, without those whose value is undefined. */
export function attributesOf(
  all: Readonly<Record<string, string | number | boolean | undefined>>,
): SpanAttributes {
  const known = Object.entries(all).filter((one) => one[1] !== undefined);
  return Object.fromEntries(known) as Record<string, string | number | boolean>;
}

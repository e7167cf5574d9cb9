/** The interface for sending spans, and its protocols. */
import type { SpanSink } from "../../controllers/spans/span-notes.ts";

export interface SpanExport extends SpanSink {
  /** Sends the remaining spans, within a few seconds. */
  close(): Promise<void>;
}

export const PROTOCOLS = ["http/protobuf", "http/json"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** What takes spans, and over which protocol it sends them. */
import type { SpanSink } from "../../controllers/spans/span-notes.ts";

export interface SpanExport extends SpanSink {
  /** Sends what it still has, within a few seconds. */
  close(): Promise<void>;
}

export const PROTOCOLS = ["http/protobuf", "http/json"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

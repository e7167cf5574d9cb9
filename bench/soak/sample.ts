/** What the reader reports to the soak each second, and the annotation that the writer puts on pods. */
export interface Sample {
  /** Milliseconds from a write to its arrival, for the events of this second. */
  readonly lagsMs: readonly number[];
  readonly lists: number;
  readonly objects: number;
  readonly current: boolean;
  readonly rssBytes: number;
  /** CPU time of all threads of the reader in this second. */
  readonly cpuMs: number;
  /** Longest delay of the reader's event loop in this second. At most this part of a lag is the reader's own. */
  readonly lateMs: number;
  /** Only in the last report: the newest mark of each object. */
  readonly marks?: Readonly<Record<string, string>>;
}

/** Annotation: when the writer wrote the object, in milliseconds of the machine's clock. */
export const WRITTEN = "soak/written-ms";
export const MARK = "soak/mark";

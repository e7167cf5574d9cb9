/** What the reader tells the soak, and what the writer leaves on pods for it. */
export interface Sample {
  /** Milliseconds from a write to its arrival here, of the events of this second. */
  readonly lagsMs: readonly number[];
  readonly lists: number;
  readonly objects: number;
  readonly current: boolean;
  readonly rssBytes: number;
  /** Processor time that the reader took in this second, of all its threads. */
  readonly cpuMs: number;
  /** Longest that its thread was late in this second: the reader's own share of a lag, at most. */
  readonly lateMs: number;
  /** Newest mark of each object, at the end. */
  readonly marks?: Readonly<Record<string, string>>;
}

/** When the writer wrote it, in milliseconds of the machine's clock. */
export const WRITTEN = "soak/written-ms";
export const MARK = "soak/mark";

/** The names that upstream offers, as test/upstream/record-facts.ts recorded them from upstream's Go modules. */
import { readFileSync } from "node:fs";

export interface UpstreamFacts {
  /** Versions of the modules that were read. */
  readonly core: string;
  readonly aws: string;
  /** Kind → paths of its fields, spec and status. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  readonly flags: readonly string[];
  readonly gates: readonly string[];
  readonly metrics: readonly string[];
  /** Each label of a metric, as `metric{label}`. */
  readonly metricLabels: readonly string[];
  readonly events: readonly string[];
  readonly keys: readonly string[];
  readonly chartValues: readonly string[];
  readonly iamActions: readonly string[];
}

const FILE = new URL("../../test/fixtures/upstream-facts.json", import.meta.url);

/** The recorded facts. */
export function upstreamFacts(): UpstreamFacts {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

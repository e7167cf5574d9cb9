/**
 * The embedded catalogue of instance types (data/aws/instance-types.json). It has what EC2's API does not return
 * (network bandwidth, branch interfaces), and prices until some are read. scripts/catalogue.ts makes it; the file names
 * its sources.
 */
import { readFileSync } from "node:fs";

/** A row. `meta.fields` of the file explains the keys. */
export interface CatalogueRow {
  readonly cpu: number;
  readonly mem: number;
  readonly arch: "amd64" | "arm64";
  readonly net?: number;
  readonly branch?: number;
  /** The on-demand price in micro-dollars an hour, in `priceRegion`. */
  readonly usd?: number;
}

/** The embedded instance types and their prices. */
export interface Catalogue {
  readonly priceRegion: string;
  readonly pricesAt: string;
  readonly types: Readonly<Record<string, CatalogueRow | undefined>>;
}

let loaded: Catalogue | undefined;

/** The catalogue, read from its file on first use. */
export function catalogue(): Catalogue {
  if (loaded === undefined) {
    const file = new URL("../../../../data/aws/instance-types.json", import.meta.url);
    const { meta, types } = JSON.parse(readFileSync(file, "utf8"));
    loaded = { priceRegion: meta.priceRegion, pricesAt: meta.pricesAt, types };
  }
  return loaded;
}

/**
 * The embedded catalogue of instance types (data/aws/instance-types.json): what the API does not tell
 * (network bandwidth, branch interfaces) and prices to fall back on while none have been read. Made by
 * scripts/catalogue.ts; the file itself says where its figures come from.
 */
import { readFileSync } from "node:fs";

/** A row, with the keys that the file's `meta.fields` explains. */
export interface CatalogueRow {
  readonly cpu: number;
  readonly mem: number;
  readonly arch: "amd64" | "arm64";
  readonly net?: number;
  readonly branch?: number;
  /** Micro-dollars an hour, on-demand, in `priceRegion`. */
  readonly usd?: number;
}

/** The embedded instance types and their prices. */
export interface Catalogue {
  readonly priceRegion: string;
  readonly pricesAt: string;
  readonly types: Readonly<Record<string, CatalogueRow | undefined>>;
}

let loaded: Catalogue | undefined;

/** Read once, on first use. */
export function catalogue(): Catalogue {
  if (loaded === undefined) {
    const file = new URL("../../../../data/aws/instance-types.json", import.meta.url);
    const { meta, types } = JSON.parse(readFileSync(file, "utf8"));
    loaded = { priceRegion: meta.priceRegion, pricesAt: meta.pricesAt, types };
  }
  return loaded;
}

/** The dashboard's built files, read once. `npm run dashboard` builds them, and they are committed. */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Asset } from "../../console/serve.ts";

const FOLDER = new URL("../../../data/dashboard/", import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** The files by path. `/` is the page. */
export function dashboardFiles(): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(FOLDER).sort()) {
    const contentType = TYPES[name.split(".").at(-1) ?? ""];
    if (contentType === undefined) continue;
    const body = readFileSync(new URL(name, FOLDER));
    const asset = { contentType, body, gzipped: gzipSync(body) };
    assets.set(name === "index.html" ? "/" : `/${name}`, asset);
  }
  return assets;
}

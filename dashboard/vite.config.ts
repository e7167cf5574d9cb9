/** Builds the page into data/dashboard, where the console serves it from, and notes what it was built from, with the licences. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { sourceHash } from "./source-hash.ts";

const out = fileURLToPath(new URL("../data/dashboard", import.meta.url));

/** What goes into the page beside our own code. */
const PACKAGES = ["@preact/signals", "@preact/signals-core", "preact", "uplot"];

function licences(): string {
  return PACKAGES.map((name) => {
    const text = readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), "utf8");
    return `${name}\n\n${text.trim()}\n`;
  }).join("\n---\n\n");
}

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: out,
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: { entryFileNames: "app.js", assetFileNames: "app.[ext]", codeSplitting: false },
    },
    assetsDir: "",
  },
  plugins: [
    {
      name: "source-hash",
      closeBundle: () => {
        writeFileSync(`${out}/source.sha256`, `${sourceHash()}\n`);
        writeFileSync(`${out}/THIRD-PARTY-LICENSES.txt`, licences());
      },
    },
  ],
});

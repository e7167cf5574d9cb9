/** Builds the page into data/dashboard, where the console serves it from, and notes what it was built from. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { sourceHash } from "./source-hash.ts";

const out = fileURLToPath(new URL("../data/dashboard", import.meta.url));

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
      closeBundle: () => writeFileSync(`${out}/source.sha256`, `${sourceHash()}\n`),
    },
  ],
});

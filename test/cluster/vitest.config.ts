// The tests that need the real control plane: `npm run test:cluster`. Not part of `npm test`.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/cluster/**/*.test.ts"],
    pool: "threads",
    isolate: false,
    fileParallelism: false,
    testTimeout: 180_000,
    // The first run builds the control plane.
    hookTimeout: 1_800_000,
  },
});

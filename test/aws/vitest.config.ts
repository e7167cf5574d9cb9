// The tests against moto and the AWS CLI: `npm run test:aws`. Not part of `npm test`.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/aws/**/*.test.ts"],
    pool: "threads",
    isolate: false,
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 400_000,
  },
});

// The one test run: unit tests beside the code and the suites under test/ that need only Node.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Those need the real control plane (npm run test:cluster), or Python (npm run test:aws).
    exclude: ["test/cluster/**", "test/aws/**"],
    pool: "threads",
    isolate: false,
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

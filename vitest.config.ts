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
    // Only ends what hangs: how long a test takes depends on what else the machine does.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
  },
});

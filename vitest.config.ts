// The one test run: unit tests beside the code and the suites under test/ that need only Node.
import { relative } from "node:path";
import { setFlagsFromString } from "node:v8";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { compiledImports, isCompiled } from "./test/compiled.ts";

// Room for young objects in the threads of the tests, in MiB. With V8's own 16 a tenth of the CPU time copies them;
// 128 and a start at 64 save another 5 % (user and system seconds of test/safety.test.ts and test/late-claims.test.ts).
setFlagsFromString("--min-semi-space-size=64");
setFlagsFromString("--max-semi-space-size=128");
// A quarter of the CPU time went into optimizing functions that then ran for a moment only. They are optimized after
// three times as much work (V8's own is 67584 bytes of bytecode), and less is inlined into them (V8's own is 920 bytes).
setFlagsFromString("--interrupt-budget=200000");
setFlagsFromString("--max-inlined-bytecode-size-cumulative=300");

/** What takes seconds, longest first: started last, it would run alone while the other thread has nothing to do. */
const HEAVY = [
  // They look at all functions or all objects of their thread, so they are quick while few are loaded.
  "src/operator/profiling",
  "src/operator/metrics/live-heap",
  "test/scenarios",
  "test/e2e/kubectl",
  "test/conformance/",
  "test/robustness",
  "test/sticky",
  "test/e2e/",
  "test/fuzz/fuzz",
  "test/safety",
  "test/late-claims",
  "test/start-up",
  "test/places",
  "test/answers/",
  "test/seeds/",
  "test/",
];

class HeavyFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const path = relative(root, moduleId);
      const at = HEAVY.findIndex((start) => path.startsWith(start));
      return at < 0 ? HEAVY.length : at;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

/** Watch mode stays with the sources: they change while it runs. */
const usesCompiled = process.argv.includes("run") && isCompiled(import.meta.dirname);

export default defineConfig({
  plugins: usesCompiled ? [compiledImports(import.meta.dirname)] : [],
  test: {
    // Node loads compiled files itself.
    server: { deps: { external: [/\/dist\//] } },
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Those need the real control plane (npm run test:cluster), or Python (npm run test:aws).
    exclude: ["test/cluster/**", "test/aws/**", "test/prometheus/**"],
    pool: "threads",
    isolate: false,
    maxWorkers: 2,
    sequence: { sequencer: HeavyFirst },
    // Only ends what hangs: how long a test takes depends on what else the machine does.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
  },
});

import { describe, expect, it } from "vitest";
import { keepMemoryLimit, limitedArguments } from "./memory-limit.ts";

const STARTED = {
  execPath: "/node",
  execArgv: ["--v8-pool-size=2"],
  argv: ["/node", "/app/karpenter.mjs", "controller"],
  env: { PATH: "/bin" },
};

describe("the memory limit", () => {
  it("gives the heap four fifths of it, beside the flags that Node was started with", () => {
    expect(limitedArguments(1_073_741_824, STARTED)).toEqual([
      "--v8-pool-size=2",
      "--max-old-space-size=819",
      "/app/karpenter.mjs",
      "controller",
    ]);
  });

  it.each([
    ["no limit", -1, STARTED],
    ["a limit by flag", 1e9, { ...STARTED, execArgv: ["--max-old-space-size=100"] }],
    [
      "a limit by NODE_OPTIONS",
      1e9,
      { ...STARTED, env: { NODE_OPTIONS: "--max_old_space_size=9" } },
    ],
  ])("changes nothing: %s", (_, bytes, started) => {
    expect(limitedArguments(bytes, started)).toBeUndefined();
  });

  it("replaces the process where Node can, and continues where it cannot", () => {
    const calls: unknown[] = [];
    const execve = ((...args: unknown[]) => calls.push(args)) as never;
    keepMemoryLimit(1_073_741_824, { ...STARTED, execve });
    keepMemoryLimit(1_073_741_824, STARTED);
    expect(calls).toEqual([
      [
        "/node",
        [
          "/node",
          "--v8-pool-size=2",
          "--max-old-space-size=819",
          "/app/karpenter.mjs",
          "controller",
        ],
        STARTED.env,
      ],
    ]);
  });
});

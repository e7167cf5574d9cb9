import { describe, expect, it } from "vitest";
import { keepMemoryLimit, limitedArguments } from "./memory-limit.ts";

const STARTED = {
  execPath: "/node",
  execArgv: ["--v8-pool-size=2"],
  argv: ["/node", "/app/karpenter.mjs", "controller"],
  env: { PATH: "/bin" },
};

describe("--memory-limit", () => {
  it("limits the heap to 80 % of the container's memory, and keeps Node's other flags", () => {
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
  ])("leaves the process unchanged: %s", (_, bytes, started) => {
    expect(limitedArguments(bytes, started)).toBeUndefined();
  });

  it("replaces the process if Node can do that, and otherwise continues", () => {
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

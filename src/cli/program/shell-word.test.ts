import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { shellWord } from "./shell-word.ts";

describe("a word for a shell", () => {
  it("stays as it is if it contains only plain characters", () => {
    expect(shellWord("/tmp/a-b_C.9/kubeconfig")).toBe("/tmp/a-b_C.9/kubeconfig");
  });

  it.each(["", "my files/config", "it's", "$HOME/`x`", "a\\b;c&d", "~/x", "a*b", "näher"])(
    "reads %j back as it was",
    (text) => {
      const script = `printf %s ${shellWord(text)}`;
      expect(execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" })).toBe(text);
    },
  );
});

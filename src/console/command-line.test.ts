import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { commandLine } from "./command-line.ts";

describe("the command line for a what-if question", () => {
  it("contains every change that was asked for", () => {
    expect(
      commandLine({
        nodes: ["a", "b"],
        zones: ["us-west-2a"],
        consolidate: true,
        prices: ["m5.large:spot=0.03"],
        scales: ["shop/web=12"],
      }),
    ).toBe(
      "karpenter simulate --remove-node a b --drain-zone us-west-2a --scale shop/web=12 --price m5.large:spot=0.03 --consolidate",
    );
  });

  it("passes hostile words and NodePools through a shell unchanged", () => {
    const words = ["a b", "it's", "$(touch pwned)", "`id`", "-x;rm", "\u202e", "\\"];
    const pools = "a: $HOME\nNODEPOOL\nb: 'x'";
    const asked = { nodes: words, zones: [], consolidate: false, pools };
    const script = `karpenter() { printf '%s\\0' "$@"; cat; }; ${commandLine(asked)}`;
    const told = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0");
    expect(told).toEqual([
      "simulate",
      "--remove-node",
      ...words,
      "--nodepool-file",
      "-",
      `${pools}\n`,
    ]);
  });
});

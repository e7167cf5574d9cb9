import { describe, expect, it } from "vitest";
import { ownerlessPromises } from "./promises.ts";
import type { SourceFile } from "./sources.ts";

const found = (text: string): number =>
  ownerlessPromises({ path: "a.ts", text } as SourceFile).length;

describe("promises without an owner", () => {
  it.each([
    "work().then(() => end());",
    "  this.#agent.close().then(done);\n}",
    "function f() {\n  work()\n    .catch(told)\n    .then(({ status }) => {\n      write(status);\n    });\n}",
    "if (a) {\n  b();\n}\nwork().then(end);",
    'import { setTimeout as sleep } from "node:timers/promises";\nfunction f() {\n  sleep(5);\n}',
  ])("are reported: %s", (text) => {
    expect(found(text)).toBe(1);
  });

  it.each([
    "await work().then(end);",
    "return work().then(end);",
    "const a = work().then(end);",
    "work().then(end, failed);",
    "work().then(\n  () => end(),\n  (error) => told(error),\n);",
    "work().then(end).catch(failed);",
    'mustNotFail(work().then(end), "work");',
    "const f = () => work().then(end);",
    "Promise.race([work().then(end), other]).catch(told);",
    'import { setTimeout as sleep } from "node:timers/promises";\nfunction f() {\n  await sleep(5);\n}',
    "// work().then(end);",
  ])("are not reported: %s", (text) => {
    expect(found(text)).toBe(0);
  });
});

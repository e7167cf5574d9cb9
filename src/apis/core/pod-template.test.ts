import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../base/json.ts";
import type { PodSpec } from "./pod.ts";
import { perTemplate, templateOf } from "./pod-template.ts";

const CONTAINERS = deepFreeze([{ name: "main" }]);
const spec = (own: Partial<PodSpec>): PodSpec => Object.freeze({ containers: CONTAINERS, ...own });
const claims = (claimName: string) =>
  deepFreeze([{ name: "data", persistentVolumeClaim: { claimName } }]);

describe("the template of a pod", () => {
  it("is the same for specs that differ only in nodeName and volumes", () => {
    const first = templateOf(spec({ nodeName: "a", volumes: claims("a") }));
    expect(first).toEqual({ containers: CONTAINERS });
    expect(templateOf(spec({ nodeName: "b", volumes: claims("b") }))).toBe(first);
    expect(templateOf(spec({}))).toBe(first);
  });

  it("is another if another part of the spec differs", () => {
    const first = templateOf(spec({}));
    expect(templateOf(spec({ hostNetwork: true }))).not.toBe(first);
    expect(templateOf(spec({ containers: deepFreeze([{ name: "main" }]) }))).not.toBe(first);
    expect(templateOf({ containers: CONTAINERS })).toBe(undefined);
  });

  it("is passed to the function once, without nodeName and volumes", () => {
    const asked: PodSpec[] = [];
    const ask = perTemplate((one) => asked.push(one));
    const parts = { hostNetwork: true, tolerations: [] };
    for (const nodeName of ["a", "b"]) ask(spec({ ...parts, nodeName, volumes: claims("c") }));
    ask({ containers: CONTAINERS, ...parts, nodeName: "unfrozen" });
    const { tolerations: _, ...shown } = parts;
    expect(asked.map(({ tolerations: __, ...one }) => one)).toEqual([
      { containers: CONTAINERS, ...shown },
      { containers: CONTAINERS, ...shown },
    ]);
  });
});

import { expect, it } from "vitest";
import type { DeviceFacts } from "../../core/devices/device-facts.ts";
import { pod } from "../../testing/builders.ts";
import { deviceFix } from "./device-fix.ts";

const named = (name: string, namespace?: string) => ({
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});

function fixOf(entry: object, devices: object): string | undefined {
  const spec = { resourceClaims: [{ name: "g", ...entry }] };
  const none = { slices: [], claims: [], templates: [], classes: [], compile: () => undefined };
  return deviceFix(pod({ spec }), { ...none, ...devices } as unknown as DeviceFacts)?.text;
}

it("a pod whose resource claim lacks an object is told to create the object", () => {
  const devices = { requests: [{ name: "r", exactly: { deviceClassName: "gpu.nvidia.com" } }] };
  const template = { ...named("gpu", "default"), spec: { spec: { devices } } };
  const byTemplate = { resourceClaimTemplateName: "gpu" };
  const classes = [named("gpu.nvidia.com")];
  expect(fixOf(byTemplate, { templates: [template], classes })).toBeUndefined();
  expect(fixOf(byTemplate, { templates: [template] })).toBe("create DeviceClass gpu.nvidia.com");
  expect(fixOf(byTemplate, { templates: [template], classes: [named("gpu.nvidai.com")] })).toBe(
    "did you mean DeviceClass gpu.nvidai.com? Or create DeviceClass gpu.nvidia.com",
  );
  expect(fixOf(byTemplate, {})).toBe("create ResourceClaimTemplate default/gpu");

  const byName = { resourceClaimName: "mine" };
  const claim = { ...named("mine", "default"), spec: { devices } };
  expect(fixOf(byName, {})).toBe("create ResourceClaim default/mine");
  expect(fixOf(byName, { claims: [claim] })).toBe("create DeviceClass gpu.nvidia.com");
  expect(fixOf(byName, { claims: [claim], classes })).toBeUndefined();
});

it("an alternative of a request with an unknown DeviceClass is told, too", () => {
  const firstAvailable = [
    { name: "a", deviceClassName: "small" },
    { name: "b", deviceClassName: "big" },
  ];
  const devices = { requests: [{ name: "r", firstAvailable }] };
  const claims = [{ ...named("mine", "default"), spec: { devices } }];
  expect(fixOf({ resourceClaimName: "mine" }, { claims, classes: [named("small")] })).toBe(
    "create DeviceClass big",
  );
});

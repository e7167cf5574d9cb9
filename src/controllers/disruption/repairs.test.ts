import { expect, it } from "vitest";
import { snakeCase } from "./repairs.ts";

it.each([
  ["AcceleratedHardwareReady", "accelerated_hardware_ready"],
  ["Ready", "ready"],
  ["KWOKRebootRequired", "kwok_reboot_required"],
  ["KWOKUnhealthy", "kwok_unhealthy"],
])("the condition %s is %s in labels of metrics, as upstream", (condition, label) => {
  expect(snakeCase(condition)).toBe(label);
});

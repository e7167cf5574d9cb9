/** Explains why no node of a pool can have the devices that a pod claims. */
import type { DeviceNeeds } from "../../devices/needs.ts";
import type { PlanningContext } from "../nodes/trial.ts";
import type { Template } from "../pools/pool-template.ts";
import type { Last, Refusal } from "./explain-launch.ts";

/** Upstream's sentence, in pkg/scheduling/dynamicresources/allocator.go. */
const TEXT = "no instance type can satisfy the allocation";

/** A new node of the template, in each combination of topology domains that is possible for it. */
interface Launching {
  readonly template: Template;
  readonly lasts: readonly Last[];
}

/**
 * Why a new node cannot give the pod its devices, in any combination of domains. Undefined: in one combination it can.
 */
export function lackOfDevices(
  needs: DeviceNeeds,
  { template: { table }, lasts }: Launching,
  { devices }: PlanningContext,
): Omit<Refusal, "rejected"> | undefined {
  const [last] = lasts;
  if (devices === undefined || last === undefined) return undefined;
  const holder = {};
  const asked = lasts.map((one) => ({ ...one, holder, table }));
  if (asked.some((one) => devices.ofNewNodes.fits(needs, one).length > 0)) return undefined;
  const why = devices.ofNewNodes.explain(needs, { ...last, holder, table });
  return { text: `${TEXT}: ${why}`, why };
}

/** Whether the properties of a device match a request. A device that is in use may match, too. */
import { within } from "../../base/within.ts";
import { consumedBy, type DeviceAmounts } from "./capacity.ts";
import type { Alternative } from "./claim-specs.ts";
import type { PooledDevice } from "./inventory.ts";
import type { Selector } from "./selectors.ts";
import { untoleratedTaint } from "./taints.ts";

/** The step of the check at which the device fails. The check makes the steps in this order. */
export type MatchStep = "class" | "selector" | "taint" | "capacity";

export interface Mismatch {
  readonly step: MatchStep;
  /** The expression or value that caused the failure. */
  readonly text: string;
  /** Whether the selector cannot be evaluated for the device. Kubernetes then fails the whole claim. */
  readonly isError?: true;
}

export type Match =
  | { readonly mismatch: Mismatch }
  /** What the request uses of the device's capacity, if the device is shared. */
  | { readonly mismatch?: undefined; readonly consumes: DeviceAmounts };

/** Cached results for one pass, by request and content of the device. */
export class Matcher {
  readonly #known = new WeakMap<Alternative, Map<number, Match>>();

  of(request: Alternative, device: PooledDevice): Match {
    const known = within(this.#known, request, () => new Map());
    return within(known, device.content, () => matchOf(request, device));
  }
}

function matchOf(request: Alternative, one: PooledDevice): Match {
  for (const [at, selector] of request.selectors.entries()) {
    const mismatch = bySelector(selector, one, at < request.ofClass ? "class" : "selector");
    if (mismatch !== undefined) return { mismatch };
  }
  const { device, pool } = one;
  const taint = untoleratedTaint(device, request.tolerations);
  if (taint !== undefined) {
    const { key, value, effect } = taint;
    const text = `${key}${value === undefined ? "" : `=${value}`}:${effect}`;
    return { mismatch: { step: "taint", text } };
  }
  const consumes = consumedBy(device, pool.driver, request.capacity);
  if (typeof consumes === "string") return { mismatch: { step: "capacity", text: consumes } };
  return { consumes };
}

function bySelector(selector: Selector, one: PooledDevice, step: MatchStep): Mismatch | undefined {
  const answer = selector.test(one);
  if (answer === true) return undefined;
  const { expression } = selector;
  if (answer === false) return { step, text: expression };
  return { step, text: `${expression} (${answer})`, isError: true };
}

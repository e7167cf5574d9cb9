/**
 * CEL selectors of DeviceClasses and of device requests. Each selector is compiled once, and evaluated once for devices
 * with equal properties.
 */
import type { Device, DeviceSelector } from "../../apis/resource/kinds.ts";
import { within } from "../../base/within.ts";
import type { PooledDevice } from "./inventory.ts";

/** The value of `device` in a CEL expression. */
export interface SelectableDevice
  extends Pick<Device, "attributes" | "capacity" | "allowMultipleAllocations"> {
  readonly driver: string;
}

/** A compiled selector. If the expression cannot be evaluated for the device, it returns the reason as a text. */
export type SelectorProgram = (device: SelectableDevice) => boolean | string;

/** Compiles a CEL expression. If it cannot be compiled, returns the reason as a text. */
export type CompileSelector = (expression: string) => SelectorProgram | string;

/** A compiled selector. */
export interface Selector {
  readonly expression: string;
  /** Why the expression cannot be compiled. Absent: it can. */
  readonly problem?: string;
  readonly test: (device: PooledDevice) => boolean | string;
}

/** All selectors of one pass. */
export class SelectorCache {
  readonly #known = new Map<string, Selector>();
  readonly #compile: CompileSelector;

  constructor(compile: CompileSelector) {
    this.#compile = compile;
  }

  of({ cel }: DeviceSelector): Selector {
    if (cel === undefined) return UNKNOWN_KIND;
    return within(this.#known, cel.expression, () => this.#compiled(cel.expression));
  }

  #compiled(expression: string): Selector {
    const program = this.#compile(expression);
    if (typeof program === "string") return { expression, problem: program, test: () => program };
    const answers = new Map<number, boolean | string>();
    const test = ({ content, device, pool: { driver } }: PooledDevice) => {
      return within(answers, content, () => program({ ...device, driver }));
    };
    return { expression, test };
  }
}

const PROBLEM = "a selector that is not a CEL expression is not supported";
const UNKNOWN_KIND: Selector = { expression: "", problem: PROBLEM, test: () => PROBLEM };

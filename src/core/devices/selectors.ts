/** CEL selectors of classes and requests. Each is compiled once, and evaluated once for each content of a device. */
import type { Device, DeviceSelector } from "../../apis/resource/kinds.ts";
import { within } from "../../base/within.ts";
import type { PooledDevice } from "./inventory.ts";

/** What an expression sees as `device`. */
export interface SelectableDevice
  extends Pick<Device, "attributes" | "capacity" | "allowMultipleAllocations"> {
  readonly driver: string;
}

/** A text is the reason why the expression has no value for the device. */
export type SelectorProgram = (device: SelectableDevice) => boolean | string;

/** A text is the reason why the expression cannot be compiled. */
export type CompileSelector = (expression: string) => SelectorProgram | string;

/** A compiled selector. */
export interface Selector {
  readonly expression: string;
  /** Absent: it is compiled. */
  readonly problem?: string;
  readonly test: (device: PooledDevice) => boolean | string;
}

/** The selectors of one pass. */
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

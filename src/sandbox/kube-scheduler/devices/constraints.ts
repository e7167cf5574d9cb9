/**
 * Checks one constraint of a claim while its devices are chosen one by one.
 * upstream: dynamic-resource-allocation/structured/internal/experimental/constraint.go
 */
import type { DeviceAttribute, DeviceConstraint } from "../../../apis/resource/kinds.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { OfferedDevice } from "./pools.ts";

/** Keeps the attribute values of the devices chosen so far, in the order of choosing. */
export class ConstraintCheck {
  readonly #constraint: DeviceConstraint;
  readonly #values: string[] = [];

  constructor(constraint: DeviceConstraint) {
    this.#constraint = constraint;
  }

  /** Whether the constraint applies to a request. `name` is `request` or `request/subrequest`. */
  #binds(name: string): boolean {
    const { requests = [] } = this.#constraint;
    const [parent = ""] = name.split("/");
    return requests.length === 0 || requests.includes(name) || requests.includes(parent);
  }

  /** Adds a device if it satisfies the constraint together with the others. Returns whether it does. */
  add(request: string, chosen: OfferedDevice): boolean {
    if (!this.#binds(request)) return true;
    const { matchAttribute, distinctAttribute } = this.#constraint;
    const attribute = attributeOf(chosen, matchAttribute ?? distinctAttribute ?? "");
    if (attribute === undefined) return false;
    const value = canonicalJson(attribute);
    const isFine =
      matchAttribute === undefined
        ? !this.#values.includes(value)
        : this.#values.every((other) => other === value);
    if (isFine) this.#values.push(value);
    return isFine;
  }

  /** Undoes the last {@link add} of this request. */
  remove(request: string): void {
    if (this.#binds(request)) this.#values.pop();
  }
}

/** An attribute by its full name. The driver's own attributes may lack the domain. */
function attributeOf({ device, slice }: OfferedDevice, name: string): DeviceAttribute | undefined {
  const { attributes = {} } = device;
  const own = `${slice.spec.driver}/`;
  return (
    attributes[name] ?? (name.startsWith(own) ? attributes[name.slice(own.length)] : undefined)
  );
}

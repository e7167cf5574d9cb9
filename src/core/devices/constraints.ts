/**
 * Constraints of a ResourceClaim: its devices must have the same value of an attribute, or all different values.
 * upstream: pkg/scheduling/dynamicresources/constraint.go, attributebindings.go
 */
import type { DeviceAttribute, DeviceConstraint } from "../../apis/resource/kinds.ts";
import type { PooledDevice } from "./inventory.ts";

/** The attribute values of the devices that a claim has so far in a search. */
export class ConstraintState {
  readonly #constraints: readonly DeviceConstraint[];
  /** For each constraint: the values of its devices, the newest last. */
  readonly #held: string[][];

  constructor(constraints: readonly DeviceConstraint[]) {
    this.#constraints = constraints;
    this.#held = constraints.map(() => []);
  }

  /** Adds the device for the request. Returns the attribute that forbids it. Undefined: the device was added. */
  take(request: string, device: PooledDevice): string | undefined {
    const values = this.#constraints.map((one) =>
      holdsFor(one, request) ? sameness(one, device) : NOT_HELD,
    );
    for (const [at, value] of values.entries()) {
      if (value === NOT_HELD) continue;
      const constraint = this.#constraints[at] as DeviceConstraint;
      const held = this.#held[at] as string[];
      if (value === undefined || !agrees(constraint, held, value))
        return constraint.matchAttribute ?? constraint.distinctAttribute;
    }
    for (const [at, value] of values.entries())
      if (value !== NOT_HELD) this.#held[at]?.push(value as string);
    return undefined;
  }

  /** Undoes the last successful {@link take} of the request. */
  giveBack(request: string): void {
    for (const [at, constraint] of this.#constraints.entries())
      if (holdsFor(constraint, request)) this.#held[at]?.pop();
  }
}

const NOT_HELD = "";

/**
 * Whether the constraint applies to the request. `request`: its name, or `request/alternative`. A constraint on a
 * request applies to all its alternatives.
 */
function holdsFor({ requests = [] }: DeviceConstraint, request: string): boolean {
  const [parent] = request.split("/");
  return requests.length === 0 || requests.includes(request) || requests.includes(parent as string);
}

function agrees(
  { distinctAttribute }: DeviceConstraint,
  held: readonly string[],
  value: string,
): boolean {
  if (distinctAttribute !== undefined) return !held.includes(value);
  return held.length === 0 || held[0] === value;
}

/**
 * The value of the constraint's attribute, with its type. A device of a new node may have no value yet, but be known to
 * get the same value as other devices (a binding). Such a binding never counts as equal to a value. Undefined: the
 * device has neither.
 */
function sameness(
  { matchAttribute, distinctAttribute }: DeviceConstraint,
  one: PooledDevice,
): string | undefined {
  const name = matchAttribute ?? distinctAttribute;
  if (name === undefined) return undefined;
  const value = attributeOf(one, name);
  if (value !== undefined) return attributeText(value);
  const group = matchAttribute === undefined ? undefined : one.bound?.get(matchAttribute);
  return group === undefined ? undefined : `bound ${group}`;
}

/** The device's attribute of this full name. If the domain is the driver's, the device may use the bare name. */
function attributeOf(
  { device: { attributes = {} }, pool: { driver } }: PooledDevice,
  name: string,
): DeviceAttribute | undefined {
  if (Object.hasOwn(attributes, name)) return attributes[name];
  const bare = name.startsWith(`${driver}/`) ? name.slice(driver.length + 1) : undefined;
  return bare !== undefined && Object.hasOwn(attributes, bare) ? attributes[bare] : undefined;
}

function attributeText({ bool, int, string, version }: DeviceAttribute): string {
  if (bool !== undefined) return `bool ${bool}`;
  if (int !== undefined) return `int ${int}`;
  return string !== undefined ? `string ${string}` : `version ${version}`;
}

/** Kubernetes quantities in CEL. upstream: apiserver pkg/cel/library/quantity.go */
import type { Environment } from "@marcbachmann/cel-js";
import { parseNano } from "../../../base/quantity.ts";

const NANO = 1_000_000_000n;

class Quantity {
  readonly nano: bigint;
  constructor(nano: bigint) {
    this.nano = nano;
  }
}

/** The CEL value of a quantity. */
export function celQuantity(text: string): unknown {
  return new Quantity(parseNano(text) ?? 0n);
}

/** Registers `quantity("1Gi")`, `isQuantity(…)` and the functions of quantities. */
export function registerQuantities(environment: Environment): void {
  const type = "kubernetes.Quantity";
  const isWhole = ({ nano }: Quantity): boolean => nano % NANO === 0n;
  environment
    .registerType(type, { ctor: Quantity, fields: {} })
    .registerFunction("isQuantity(string): bool", (text: string) => parseNano(text) !== undefined)
    .registerFunction(`quantity(string): ${type}`, (text: string) => {
      const nano = parseNano(text);
      if (nano === undefined) {
        throw new Error(
          "quantities must match the regular expression " +
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        );
      }
      return new Quantity(nano);
    })
    .registerFunction(`${type}.isInteger(): bool`, isWhole)
    .registerFunction(`${type}.asInteger(): int`, (quantity: Quantity) => {
      if (!isWhole(quantity)) throw new Error("cannot convert value to integer");
      return quantity.nano / NANO;
    })
    .registerFunction(`${type}.asApproximateFloat(): double`, ({ nano }: Quantity) => {
      return Number(nano) / 1e9;
    })
    .registerFunction(`${type}.sign(): int`, ({ nano }: Quantity) => signOf(nano))
    .registerFunction(`${type}.add(${type}): ${type}`, (a: Quantity, b: Quantity) => {
      return new Quantity(a.nano + b.nano);
    })
    .registerFunction(`${type}.sub(${type}): ${type}`, (a: Quantity, b: Quantity) => {
      return new Quantity(a.nano - b.nano);
    })
    .registerFunction(`${type}.isLessThan(${type}): bool`, (a: Quantity, b: Quantity) => {
      return a.nano < b.nano;
    })
    .registerFunction(`${type}.isGreaterThan(${type}): bool`, (a: Quantity, b: Quantity) => {
      return a.nano > b.nano;
    })
    .registerFunction(`${type}.compareTo(${type}): int`, (a: Quantity, b: Quantity) => {
      return signOf(a.nano - b.nano);
    });
}

function signOf(value: bigint): bigint {
  return value < 0n ? -1n : value > 0n ? 1n : 0n;
}

/** Semantic versions in CEL. upstream: apiserver pkg/cel/library/semverlib.go */
import type { Environment } from "@marcbachmann/cel-js";

const SHAPE =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?$/;

class Semver {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly [bigint, bigint, bigint], prerelease: readonly string[]) {
    this.numbers = numbers;
    this.prerelease = prerelease;
  }
}

/** The CEL value of a semantic version; `undefined` if the text is not one. */
export function celVersion(text: string): unknown {
  return read(text);
}

/** Registers `semver("1.2.3")`, `isSemver(…)` and the functions of versions. */
export function registerVersions(environment: Environment): void {
  const type = "kubernetes.Semver";
  environment
    .registerType(type, { ctor: Semver, fields: {} })
    .registerFunction("isSemver(string): bool", (text: string) => read(text) !== undefined)
    .registerFunction(`semver(string): ${type}`, (text: string) => {
      const version = read(text);
      if (version === undefined) throw new Error(`invalid semantic version ${text}`);
      return version;
    })
    .registerFunction(`${type}.major(): int`, ({ numbers }: Semver) => numbers[0])
    .registerFunction(`${type}.minor(): int`, ({ numbers }: Semver) => numbers[1])
    .registerFunction(`${type}.patch(): int`, ({ numbers }: Semver) => numbers[2])
    .registerFunction(
      `${type}.isLessThan(${type}): bool`,
      (a: Semver, b: Semver) => order(a, b) < 0,
    )
    .registerFunction(
      `${type}.isGreaterThan(${type}): bool`,
      (a: Semver, b: Semver) => order(a, b) > 0,
    )
    .registerFunction(`${type}.compareTo(${type}): int`, (a: Semver, b: Semver) =>
      BigInt(order(a, b)),
    );
}

function read(text: string): Semver | undefined {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [, major = "", minor = "", patch = "", prerelease] = match;
  return new Semver(
    [BigInt(major), BigInt(minor), BigInt(patch)],
    prerelease === undefined ? [] : prerelease.split("."),
  );
}

/** Compares by the rules of semver.org: negative, zero or positive. Build metadata is ignored. */
function order(a: Semver, b: Semver): number {
  for (let at = 0; at < 3; at++) {
    const [left, right] = [a.numbers[at] as bigint, b.numbers[at] as bigint];
    if (left !== right) return left < right ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return Math.sign(b.prerelease.length - a.prerelease.length);
  for (let at = 0; at < Math.max(a.prerelease.length, b.prerelease.length); at++) {
    const verdict = orderOfParts(a.prerelease[at], b.prerelease[at]);
    if (verdict !== 0) return verdict;
  }
  return 0;
}

/**
 * Compares one prerelease part: a missing part is first, then numbers by value, then words by their bytes.
 */
function orderOfParts(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  if (a === undefined) return -1;
  if (b === undefined) return 1;
  const [isNumberA, isNumberB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumberA && isNumberB) return BigInt(a) < BigInt(b) ? -1 : 1;
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
  return a < b ? -1 : 1;
}

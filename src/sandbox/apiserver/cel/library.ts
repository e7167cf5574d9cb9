/**
 * Kubernetes' additions to CEL: regular expressions in Go's dialect, lists, quantities, URLs, IP
 * addresses and networks. Registered once; `format` and `authorizer` are not offered (a rule that uses them does
 * not compile, and the CRD is refused with that message).
 * upstream: apiserver pkg/cel/library
 */

import { isIP } from "node:net";
import type { Environment } from "@marcbachmann/cel-js";
import { deepEqual } from "../../../base/json.ts";
import { parseNano } from "../../../base/quantity.ts";
import { compilePattern } from "../schema/validate.ts";

const NANO = 1_000_000_000n;

class Quantity {
  readonly nano: bigint;
  constructor(nano: bigint) {
    this.nano = nano;
  }
}

class Url {
  readonly url: URL;
  constructor(url: URL) {
    this.url = url;
  }
}

class Ip {
  readonly family: number;
  readonly bits: bigint;
  readonly text: string;
  constructor(text: string) {
    this.text = text;
    this.family = isIP(text);
    this.bits = this.family === 4 ? bitsOf4(text) : bitsOf6(text);
  }
}

class Cidr {
  readonly ip: Ip;
  readonly prefix: number;
  constructor(ip: Ip, prefix: number) {
    this.ip = ip;
    this.prefix = prefix;
  }

  /** Same network for `other` under this prefix. */
  contains(other: Ip): boolean {
    if (other.family !== this.ip.family) return false;
    const shift = BigInt((this.ip.family === 4 ? 32 : 128) - this.prefix);
    return other.bits >> shift === this.ip.bits >> shift;
  }
}

/** Registers everything on `environment`. */
export function registerKubernetesLibrary(environment: Environment): void {
  registerStrings(environment);
  registerLists(environment);
  registerQuantities(environment);
  registerUrls(environment);
  registerNetworks(environment);
}

/** Whether `text` holds a match of the Go regular expression. */
function matchesRe2(text: string, pattern: string): boolean {
  return compiled(pattern).matcher(text).find();
}

function compiled(pattern: string) {
  const expression = compilePattern(pattern);
  if (expression === undefined) throw new Error(`error parsing regexp: ${pattern}`);
  return expression;
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const matcher = compiled(pattern).matcher(text);
  const found: string[] = [];
  while (found.length < limit && matcher.find()) found.push(matcher.group() as string);
  return found;
}

function registerStrings(environment: Environment): void {
  environment
    .registerFunction("string.matchesRe2(string): bool", matchesRe2)
    .registerFunction("string.find(string): string", (text: string, pattern: string) => {
      return findAll(text, pattern, 1)[0] ?? "";
    })
    .registerFunction("string.findAll(string): list<string>", (text: string, pattern: string) => {
      return findAll(text, pattern, Number.POSITIVE_INFINITY);
    })
    .registerFunction(
      "string.findAll(string, int): list<string>",
      (text: string, pattern: string, limit: bigint) => findAll(text, pattern, Number(limit)),
    )
    .registerFunction("string.charAt(int): string", (text: string, at: bigint) => {
      return [...text][Number(at)] ?? "";
    })
    .registerFunction(
      "string.replace(string, string): string",
      (text: string, from: string, to: string) => text.replaceAll(from, to),
    );
}

function registerLists(environment: Environment): void {
  environment
    .registerFunction("list.isSorted(): bool", (list: readonly (bigint | string)[]) => {
      return list.every((item, index) => index === 0 || (list[index - 1] as typeof item) <= item);
    })
    .registerFunction("list.sum(): dyn", (list: readonly unknown[]) => {
      if (list.length === 0) return 0n;
      return list.reduce((total, item) => (total as number) + (item as number));
    })
    .registerFunction("list.min(): dyn", (list: readonly (bigint | string)[]) => {
      if (list.length === 0) throw new Error("min called on empty list");
      return sorted(list)[0];
    })
    .registerFunction("list.max(): dyn", (list: readonly (bigint | string)[]) => {
      if (list.length === 0) throw new Error("max called on empty list");
      return sorted(list).at(-1);
    })
    .registerFunction("list.indexOf(dyn): int", (list: readonly unknown[], wanted: unknown) => {
      return BigInt(list.findIndex((item) => deepEqual(item, wanted)));
    })
    .registerFunction("list.lastIndexOf(dyn): int", (list: readonly unknown[], wanted: unknown) => {
      return BigInt(list.findLastIndex((item) => deepEqual(item, wanted)));
    });
}

function registerQuantities(environment: Environment): void {
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

function registerUrls(environment: Environment): void {
  const type = "kubernetes.URL";
  environment
    .registerType(type, { ctor: Url, fields: {} })
    .registerFunction("isURL(string): bool", (text: string) => URL.canParse(text))
    .registerFunction(`url(string): ${type}`, (text: string) => {
      if (!URL.canParse(text))
        throw new Error(`URL parse error during conversion from string: ${text}`);
      return new Url(new URL(text));
    })
    .registerFunction(`${type}.getScheme(): string`, ({ url }: Url) => url.protocol.slice(0, -1))
    .registerFunction(`${type}.getHost(): string`, ({ url }: Url) => url.host)
    .registerFunction(`${type}.getHostname(): string`, ({ url }: Url) => url.hostname)
    .registerFunction(`${type}.getPort(): string`, ({ url }: Url) => url.port)
    .registerFunction(`${type}.getEscapedPath(): string`, ({ url }: Url) => url.pathname);
}

function registerNetworks(environment: Environment): void {
  const ip = "net.IP";
  const cidr = "net.CIDR";
  environment
    .registerType(ip, { ctor: Ip, fields: {} })
    .registerType(cidr, { ctor: Cidr, fields: {} })
    .registerFunction("isIP(string): bool", (text: string) => isIP(text) !== 0)
    .registerFunction(`ip(string): ${ip}`, (text: string) => {
      if (isIP(text) === 0) throw new Error(`IP Address ${JSON.stringify(text)} parse error`);
      return new Ip(text);
    })
    .registerFunction(`${ip}.family(): int`, ({ family }: Ip) => BigInt(family))
    .registerFunction("isCIDR(string): bool", (text: string) => parseCidr(text) !== undefined)
    .registerFunction(`cidr(string): ${cidr}`, (text: string) => {
      const parsed = parseCidr(text);
      if (parsed === undefined) {
        throw new Error(`network address parse error during conversion from string: ${text}`);
      }
      return parsed;
    })
    .registerFunction(`${cidr}.ip(): ${ip}`, (network: Cidr) => network.ip)
    .registerFunction(`${cidr}.prefixLength(): int`, ({ prefix }: Cidr) => BigInt(prefix))
    .registerFunction(`${cidr}.containsIP(${ip}): bool`, (network: Cidr, other: Ip) => {
      return network.contains(other);
    })
    .registerFunction(`${cidr}.containsIP(string): bool`, (network: Cidr, other: string) => {
      return isIP(other) !== 0 && network.contains(new Ip(other));
    })
    .registerFunction(`${cidr}.containsCIDR(${cidr}): bool`, (network: Cidr, other: Cidr) => {
      return other.prefix >= network.prefix && network.contains(other.ip);
    });
}

function sorted<T extends bigint | string>(list: readonly T[]): readonly T[] {
  return [...list].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

function signOf(value: bigint): bigint {
  return value < 0n ? -1n : value > 0n ? 1n : 0n;
}

function parseCidr(text: string): Cidr | undefined {
  const [address = "", length = "", ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  return Number(length) <= (family === 4 ? 32 : 128)
    ? new Cidr(new Ip(address), Number(length))
    : undefined;
}

function bitsOf4(text: string): bigint {
  return text.split(".").reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

function bitsOf6(text: string): bigint {
  const [head = "", tail] = text.split("::");
  const groupsOf = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const left = groupsOf(head);
  const right = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].reduce(
    (bits, group) => (bits << 16n) | BigInt(`0x${group}`),
    0n,
  );
}

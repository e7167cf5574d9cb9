/** URLs, IP addresses and networks in CEL. upstream: apiserver pkg/cel/library/{urls,ip,cidr}.go */
import { isIP } from "node:net";
import type { Environment } from "@marcbachmann/cel-js";

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

  /** Whether this network contains the address. */
  contains(other: Ip): boolean {
    if (other.family !== this.ip.family) return false;
    const shift = BigInt((this.ip.family === 4 ? 32 : 128) - this.prefix);
    return other.bits >> shift === this.ip.bits >> shift;
  }
}

/** Registers `url(…)`, `isURL(…)` and the functions of a URL. */
export function registerUrls(environment: Environment): void {
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

/** Registers `ip(…)`, `cidr(…)` and the functions of addresses and networks. */
export function registerNetworks(environment: Environment): void {
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

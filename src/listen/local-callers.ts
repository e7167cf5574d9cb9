/**
 * Keeps web pages away from a plain HTTP listener on loopback. Any web page can make a browser call 127.0.0.1, and with
 * DNS rebinding even read the answers. Such a call has the page's site in `Host`, or another origin in `Origin` or
 * `Sec-Fetch-Site`, and is refused.
 */
import type { IncomingHttpHeaders } from "node:http";

/** Why the request is refused; undefined if it is accepted. `bound` is the address of the listener. */
export function foreignCaller(headers: IncomingHttpHeaders, bound: string): string | undefined {
  const { host = "", origin } = headers;
  if (!isLocal(nameIn(`http://${host}`), bound))
    return "the Host header names neither localhost nor the address that this port listens on";
  if (origin !== undefined && !isLocal(nameIn(origin), bound))
    return "the Origin header names a page that is not served from this machine";
  if (headers["sec-fetch-site"] === "cross-site")
    return "a page of another site calls (Sec-Fetch-Site: cross-site); use one host name for both";
  return undefined;
}

/** True for an address that only this machine can reach. */
export function isLoopback(address: string): boolean {
  return /^(127(\.\d{1,3}){3}|::1|localhost)$/.test(address);
}

function isLocal(name: string | undefined, bound: string): boolean {
  if (name === undefined) return false;
  // RFC 6761: names below localhost are loopback, and no DNS server is asked about them.
  return isLoopback(name) || name === bound || name.endsWith(".localhost");
}

function nameIn(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  return new URL(url).hostname.replace(/^\[|\]$/g, "") || undefined;
}

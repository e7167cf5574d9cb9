/**
 * A root file system for the image, made from this machine: Node, the libraries that Node is linked with, trusted CA
 * certificates, and the user's name. It stands in for the distroless base if no image registry can be reached. It is
 * used to check the image, not in a cluster.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Debian's file of trusted CA certificates. */
export const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";
const NODE = "nodejs/bin/node";
const PASSWD =
  "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532::/home/nonroot:/sbin/nologin\n";
/** Libraries that libc opens by name when a host is looked up. ldd does not list them. */
const OPENED = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];

/** Creates the folder `root` and fills it. `node`: the path of the program Node. */
export function machineRoot(root: string, node: string): void {
  const put = (from: string, to: string): void => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
  };
  put(node, NODE);
  for (const library of librariesOf(node)) put(library, library);
  dressRoot(root);
}

/** Adds what a root file system has besides programs: CA certificates, users, a folder for temporary files. */
export function dressRoot(root: string): void {
  trustAuthorities(root);
  writeFileSync(join(root, "etc/passwd"), PASSWD);
  writeFileSync(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  mkdirSync(join(root, "tmp"));
  chmodSync(join(root, "tmp"), 0o1777);
}

/** Copies this machine's trusted CA certificates. */
export function trustAuthorities(root: string): void {
  mkdirSync(dirname(join(root, AUTHORITIES)), { recursive: true });
  copyFileSync(AUTHORITIES, join(root, AUTHORITIES));
}

function librariesOf(node: string): readonly string[] {
  const told = execFileSync("ldd", [node], { encoding: "utf8" });
  const linked = [...told.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = ""]) => path);
  const libc = linked.find((path) => /\/libc\.so/.test(path));
  if (libc === undefined) throw new Error(`${node} is linked with no libc: ${told.trim()}`);
  const opened = OPENED.map((name) => join(dirname(libc), name)).filter(existsSync);
  return [...new Set([...linked, ...opened])].sort();
}

/**
 * A root file system to stand under the image, made of this machine: Node, the libraries that it is linked with, whom
 * the machine trusts, and the user's name. It stands in for the distroless base where no image registry can be
 * reached: good for a check of the image, not for a cluster.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Where Debian keeps whom it trusts. */
export const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";
const NODE = "nodejs/bin/node";
const PASSWD =
  "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532::/home/nonroot:/sbin/nologin\n";
/** Libraries that libc opens by name when a host is looked up. ldd does not list them. */
const OPENED = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];

/** Fills the folder `root`, which is made; `node` is the program. */
export function machineRoot(root: string, node: string): void {
  const put = (from: string, to: string): void => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
  };
  put(node, NODE);
  for (const library of librariesOf(node)) put(library, library);
  dressRoot(root);
}

/** What a root has beside programs: authorities, users, a folder for files that nobody keeps. */
export function dressRoot(root: string): void {
  trustAuthorities(root);
  writeFileSync(join(root, "etc/passwd"), PASSWD);
  writeFileSync(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  mkdirSync(join(root, "tmp"));
  chmodSync(join(root, "tmp"), 0o1777);
}

/** The root trusts whom this machine trusts. */
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

/**
 * The sandbox's own certificate authority, its server certificate for this machine and the admin
 * token, kept in a directory so that a second start finds them (and old kubeconfigs keep working).
 */
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Certificates of the served API, and of its administrator. */
export interface Identity {
  readonly caPem: string;
  readonly certificatePem: string;
  readonly keyPem: string;
  /** The bearer is a member of `system:masters`. */
  readonly token: string;
}

const FILES = {
  caPem: "ca.crt",
  certificatePem: "server.crt",
  keyPem: "server.key",
  token: "token",
} as const;

// Fixed, so that making certificates does not ask what time it is.
const NOT_BEFORE = new Date(Date.UTC(2020, 0, 1));
const NOT_AFTER = new Date(Date.UTC(2049, 0, 1));

/**
 * Reads the identity from `directory`, or makes one there. Only the owner may read its files afterwards, whoever made
 * them. Rejects when the directory holds some of the files and not all: somebody else's are not overwritten.
 */
export async function identityIn(directory: string): Promise<Identity> {
  const at = (file: string): string => join(directory, file);
  const names = Object.values(FILES);
  const found = names.filter((file) => existsSync(at(file)));
  if (found.length === names.length) {
    for (const file of names) closeToOthers(at(file));
    const read = (file: string): string => readFileSync(at(file), "utf8");
    return {
      caPem: read(FILES.caPem),
      certificatePem: read(FILES.certificatePem),
      keyPem: read(FILES.keyPem),
      token: read(FILES.token).trim(),
    };
  }
  if (found.length > 0)
    throw new Error(
      `${directory} has ${found.join(", ")} and lacks the rest of ${names.join(", ")}: remove what is no longer needed, or choose another folder with --kubeconfig`,
    );
  const identity = await makeIdentity();
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const [field, file] of Object.entries(FILES))
    writeFileSync(at(file), identity[field as keyof Identity], { mode: 0o600, flag: "wx" });
  return identity;
}

/** Takes away what group and others may do with a file. */
function closeToOthers(file: string): void {
  const { mode } = statSync(file);
  if ((mode & 0o077) !== 0) chmodSync(file, 0o600);
}

/** A fresh identity in memory. The authority's key is thrown away: it signs once. For webhook servers of tests, too. */
export async function makeIdentity(): Promise<Identity> {
  // Loaded only where certificates are made: a second start reads them from files. A CommonJS package
  // that the bundle loads apart has no names but this one.
  const { generate } = (await import("selfsigned")).default;
  const common = {
    keyType: "ec",
    algorithm: "sha256",
    notBeforeDate: NOT_BEFORE,
    notAfterDate: NOT_AFTER,
  } as const;
  const authority = await generate([{ name: "commonName", value: "karpenter-ts sandbox CA" }], {
    ...common,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      {
        name: "keyUsage",
        keyCertSign: true,
        cRLSign: true,
        digitalSignature: true,
        critical: true,
      },
    ],
  });
  const server = await generate([{ name: "commonName", value: "kube-apiserver" }], {
    ...common,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: "basicConstraints", cA: false },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: [
          { type: 2, value: "localhost" },
          { type: 2, value: "kubernetes" },
          { type: 2, value: "kubernetes.default.svc" },
          { type: 7, ip: "127.0.0.1" },
          { type: 7, ip: "::1" },
        ],
      },
    ],
  });
  return {
    caPem: authority.cert,
    certificatePem: server.cert,
    keyPem: server.private,
    token: randomBytes(24).toString("hex"),
  };
}

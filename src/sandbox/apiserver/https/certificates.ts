/**
 * The sandbox's certificate authority, its server certificate for this machine and the admin token. They are
 * kept in a directory, so that old kubeconfigs work after a restart.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The server's certificate and key, its CA, and the administrator's token. */
export interface ApiServerIdentity {
  readonly caPem: string;
  readonly certificatePem: string;
  readonly keyPem: string;
  /** The administrator's token. Its bearer is a member of `system:masters`. */
  readonly token: string;
}

const FILES = {
  caPem: "ca.crt",
  certificatePem: "server.crt",
  keyPem: "server.key",
  token: "token",
} as const;

// Fixed dates, so that making certificates needs no clock.
const NOT_BEFORE = new Date(Date.UTC(2020, 0, 1));
const NOT_AFTER = new Date(Date.UTC(2049, 0, 1));

/**
 * Reads the identity from `directory`, or creates one there. Afterwards only the owner may read its files.
 * Rejects if the directory has some of the files but not all, so that no foreign files are overwritten.
 */
export async function identityIn(directory: string): Promise<ApiServerIdentity> {
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
    writeFileSync(at(file), identity[field as keyof ApiServerIdentity], {
      mode: 0o600,
      flag: "wx",
    });
  return identity;
}

/** Removes the permissions of group and others on a file. */
function closeToOthers(file: string): void {
  const { mode } = statSync(file);
  if ((mode & 0o077) !== 0) chmodSync(file, 0o600);
}

/**
 * A new identity in memory. The key of the authority signs once and is not kept. Tests use it for webhook
 * servers, too.
 */
export async function makeIdentity(): Promise<ApiServerIdentity> {
  // Imported here, because a second start reads certificates from files and does not need it. `default`: a
  // CommonJS package loaded by the bundle has no other export.
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

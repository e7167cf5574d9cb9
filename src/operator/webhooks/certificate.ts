/**
 * The certificate of Karpenter's webhooks: an authority that signs once, and a certificate for the host names that the
 * API server calls. It is valid for a few days and renewed in time, as in knative. During a renewal both authorities
 * are trusted, so that replicas can change their certificates one after the other.
 * upstream: knative.dev/pkg/webhook/certificates
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";

/** Certificate and key of the webhooks, as PEM. */
export interface ServingCertificate {
  readonly certPem: string;
  readonly keyPem: string;
  /** All trusted authorities: first the one that signed `certPem`, then earlier ones. */
  readonly caPem: string;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const LIFETIME_MS = 7 * DAY_MS;
const RENEW_BEFORE_MS = DAY_MS;
/** Milliseconds between the start of the validity and the creation, because the API server's clock may be behind. */
const BACKDATED_MS = 10 * 60 * 1_000;

/**
 * Creates a certificate. `hosts`: DNS names and addresses. `previous`: its authorities are still trusted as long as
 * they are valid.
 */
export async function makeCertificate(
  hosts: readonly string[],
  nowMs: number,
  previous?: ServingCertificate,
): Promise<ServingCertificate> {
  // The package is loaded only here, because most starts find a certificate in the Secret. It is a CommonJS package, of
  // which the bundle has only the export `default`.
  const { generate } = (await import("selfsigned")).default;
  const common = {
    keyType: "ec",
    algorithm: "sha256",
    notBeforeDate: new Date(nowMs - BACKDATED_MS),
    notAfterDate: new Date(nowMs + LIFETIME_MS),
  } as const;
  // Each authority has a different name, because a bundle may contain several.
  const name = `karpenter webhooks ${new Date(nowMs).toISOString()}`;
  const authority = await generate([{ name: "commonName", value: name }], {
    ...common,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, digitalSignature: true, critical: true },
    ],
  });
  const server = await generate([{ name: "commonName", value: hosts[0] ?? "karpenter" }], {
    ...common,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: "basicConstraints", cA: false },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: hosts.map((host) =>
          isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host },
        ),
      },
    ],
  });
  const kept = authorities(previous?.caPem ?? "").filter((pem) => validUntilMs(pem) > nowMs);
  return {
    certPem: server.cert,
    keyPem: server.private,
    caPem: `${[authority.cert.trim(), ...kept].join("\n")}\n`,
  };
}

/** Why the certificate must be replaced. Undefined: it is valid for `hosts` for long enough. */
export function whyRenew(
  { certPem, keyPem, caPem }: ServingCertificate,
  hosts: readonly string[],
  nowMs: number,
): string | undefined {
  try {
    const certificate = new X509Certificate(certPem);
    if (validUntilMs(certPem) - nowMs < RENEW_BEFORE_MS) return "it expires soon";
    const [first] = authorities(caPem);
    if (first === undefined || !certificate.verify(new X509Certificate(first).publicKey))
      return "its authority did not sign it";
    if (!keyPem.includes("PRIVATE KEY")) return "it has no key";
    const missing = hosts.find((host) =>
      isIP(host) === 0
        ? certificate.checkHost(host) === undefined
        : certificate.checkIP(host) === undefined,
    );
    return missing === undefined ? undefined : `it is not for ${missing}`;
  } catch (error) {
    return `it cannot be read: ${(error as Error).message}`;
  }
}

/** When a certificate expires. An invalid one counts as expired. */
export function validUntilMs(pem: string): number {
  try {
    return Date.parse(new X509Certificate(pem).validTo);
  } catch {
    return 0;
  }
}

function authorities(bundle: string): readonly string[] {
  return bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
}

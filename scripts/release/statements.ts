/** Statements about a release: checksums, bills of material, provenance; and their signatures. */
import { createHash, createPrivateKey, sign } from "node:crypto";

export interface Artefact {
  readonly name: string;
  readonly content: Buffer;
}

export interface Origin {
  readonly version: string;
  readonly commit: string;
  readonly atMs: number;
}

/** Lines as `sha256sum --check` reads them. */
export function sumsOf(artefacts: readonly Artefact[]): string {
  return artefacts.map(({ name, content }) => `${sha256(content)}  ${name}\n`).join("");
}

/**
 * npm's bill of materials in CycloneDX or SPDX, made reproducible: npm writes the folder's name, the time and a
 * random serial number.
 */
export function steadyBill(text: string, { version, atMs }: Origin): string {
  const created = new Date(atMs).toISOString();
  const bill = JSON.parse(text) as {
    serialNumber?: string;
    documentNamespace?: string;
    name?: string;
    metadata?: { timestamp?: string; component?: { name?: string } };
    creationInfo?: { created?: string };
  };
  const name = "karpenter-ts";
  if (bill.metadata?.timestamp !== undefined) bill.metadata.timestamp = created;
  if (bill.metadata?.component !== undefined) bill.metadata.component.name = name;
  if (bill.creationInfo !== undefined) bill.creationInfo.created = created;
  if (bill.documentNamespace !== undefined) {
    bill.name = `${name}@${version}`;
    bill.documentNamespace = `https://spdx.org/spdxdocs/${name}-${version}`;
  }
  if (bill.serialNumber !== undefined)
    bill.serialNumber = `urn:uuid:${uuidOf(`${name} ${version} ${created}`)}`;
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** The builder of the release: everything that made it besides the commit. */
export interface Maker {
  /** A URI that identifies who ran the release. */
  readonly id: string;
  /** Programs by name, with their versions: another version may compress to other bytes. */
  readonly programs: Readonly<Record<string, string>>;
  readonly lockFile: Buffer;
}

/** An in-toto statement with SLSA provenance, v1: which commit and which command made these files. */
export function provenanceOf(
  artefacts: readonly Artefact[],
  { version, commit, atMs }: Origin,
  { id, programs, lockFile }: Maker,
): string {
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: artefacts.map(({ name, content }) => ({ name, digest: { sha256: sha256(content) } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://karpenter-ts.invalid/npm-run-release/v1",
        externalParameters: { version },
        internalParameters: { programs },
        resolvedDependencies: [
          { name: "source", digest: { gitCommit: commit } },
          { name: "package-lock.json", digest: { sha256: sha256(lockFile) } },
        ],
      },
      runDetails: {
        builder: { id },
        metadata: { invocationId: `${commit}-${version}`, startedOn: new Date(atMs).toISOString() },
      },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
}

/**
 * Base64 of an ECDSA signature over SHA-256, in DER: what `cosign sign-blob` writes, and `cosign verify-blob --key`
 * reads. `pem`: a private key on the curve P-256, unencrypted.
 */
export function signatureOf(content: Buffer, pem: string): string {
  const key = createPrivateKey(pem);
  const { namedCurve } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType !== "ec" || namedCurve !== "prime256v1")
    throw new Error(
      "the key must be on the curve P-256: openssl ecparam -name prime256v1 -genkey -noout",
    );
  return `${sign("sha256", content, key).toString("base64")}\n`;
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A UUID of version 8, made from text. */
function uuidOf(text: string): string {
  const hex = sha256(Buffer.from(text));
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
  ];
  return [...parts, hex.slice(20, 32)].join("-");
}

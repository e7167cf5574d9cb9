/**
 * SHA-256 for the SDK's signatures; each AWS call needs two keyed hashes. The SDK's own version passes keys as bytes.
 * Node 24 then throws two errors inside to find that they are not key objects, which takes longer than the hash.
 */
import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from "node:crypto";

type Secret = string | ArrayBuffer | ArrayBufferView;

/** The class that the SDK accepts as `sha256`. With a secret it is an HMAC. */
export class Sha256 {
  readonly #secret: Secret | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Secret) {
    this.#secret = secret;
    this.#hash = begun(secret);
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = begun(this.#secret);
  }
}

function begun(secret: Secret | undefined): Hash | Hmac {
  if (secret === undefined) return createHash("sha256");
  if (typeof secret === "string") return createHmac("sha256", secret);
  const bytes = ArrayBuffer.isView(secret)
    ? new Uint8Array(secret.buffer, secret.byteOffset, secret.byteLength)
    : new Uint8Array(secret);
  return createHmac("sha256", createSecretKey(bytes));
}

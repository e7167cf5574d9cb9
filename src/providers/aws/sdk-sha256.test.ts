import { describe, expect, it } from "vitest";
import { Sha256 } from "./sdk-sha256.ts";

async function hexOf(secret: string | ArrayBuffer | ArrayBufferView | undefined, text: string) {
  const hash = new Sha256(secret);
  hash.update(Buffer.from("of what came before"));
  hash.reset();
  hash.update(Buffer.from(text));
  return Buffer.from(await hash.digest()).toString("hex");
}

describe("SHA-256 for signatures of AWS calls", () => {
  it("gives known digests, and with a secret those of RFC 4231", async () => {
    expect(await hexOf(undefined, "abc")).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
    const keyed = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    const text = "what do ya want for nothing?";
    const bytes = new TextEncoder().encode("Jefe");
    const within = new TextEncoder().encode("a Jefe more").subarray(2, 6);
    for (const secret of ["Jefe", bytes, bytes.buffer, within]) {
      expect(await hexOf(secret, text)).toBe(keyed);
    }
  });
});

/**
 * The 64-bit hash FNV-1 (multiply, then xor) on BigInt, for hashes of templates and for generated names. It is too slow
 * for code that runs for each pod.
 */
import { utf8Bytes } from "./base64.ts";

const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

/** FNV-1 of bytes, as an unsigned 64-bit integer. */
function fnv64(bytes: Iterable<number>): bigint {
  let hash = OFFSET;
  for (const byte of bytes) hash = ((hash * PRIME) & MASK) ^ BigInt(byte);
  return hash;
}

/** FNV-1 of a text's UTF-8 bytes. */
export function fnv64Text(text: string): bigint {
  return fnv64(utf8Bytes(text));
}

/** FNV-1 of integers, each as eight bytes, lowest byte first. Negative ones are in two's complement. */
export function fnv64Integers(...integers: readonly bigint[]): bigint {
  const bytes: number[] = [];
  for (const integer of integers) {
    let rest = integer & MASK;
    for (let i = 0; i < 8; i++) {
      bytes.push(Number(rest & 0xffn));
      rest >>= 8n;
    }
  }
  return fnv64(bytes);
}

/** UTF-8 and base64 of small texts, for parts of the program that are compiled without TextEncoder and Buffer. */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The UTF-8 bytes of the text. Lone surrogates become U+FFFD. */
export function utf8Bytes(text: string): number[] {
  const bytes: number[] = [];
  for (const character of text) {
    let code = character.codePointAt(0) as number;
    if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), tail(code));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), tail(code >> 6), tail(code));
    else bytes.push(0xf0 | (code >> 18), tail(code >> 12), tail(code >> 6), tail(code));
  }
  return bytes;
}

/** The text's UTF-8 bytes as base64 with padding. */
export function base64Encode(text: string): string {
  const bytes = utf8Bytes(text);
  let result = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b, c] = bytes.slice(i, i + 3);
    const word = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    result += letter(word >> 18) + letter(word >> 12);
    result += b === undefined ? "=" : letter(word >> 6);
    result += c === undefined ? "=" : letter(word);
  }
  return result;
}

function tail(code: number): number {
  return 0x80 | (code & 63);
}

function letter(word: number): string {
  return ALPHABET[word & 63] as string;
}

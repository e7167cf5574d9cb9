/**
 * Parses JSON. For invalid JSON it gives the error of Go's decoder, which kube-apiserver's answers contain. Also names
 * and prints values as Go does.
 * upstream: encoding/json scanner.go
 */
import { JsonLimitError, parseBoundedJson } from "../../../base/bounded-json.ts";
import { errorText } from "../../../base/error-text.ts";
import { isObject } from "../../../base/json.ts";

const END = "unexpected end of JSON input";
const LITERALS = ["true", "false", "null"] as const;

const TOO_DEEP = "exceeded max depth";

/** Thrown from within nested values to report the first problem. */
class Finding extends Error {}

/** The parsed value, or Go's error. Refuses JSON that is nested deeper than this process can walk. */
export function goJson(bytes: Buffer): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: parseBoundedJson(bytes.toString("utf8")) };
  } catch (error) {
    if (error instanceof JsonLimitError) return { problem: TOO_DEEP };
    return { problem: jsonProblem(bytes) ?? errorText(error) };
  }
}

/** Why the bytes are not JSON, with Go's byte offsets. Undefined: they are JSON. */
function jsonProblem(bytes: Uint8Array): string | undefined {
  const reader = new Reader(bytes);
  try {
    reader.value();
    if (reader.peek() !== undefined) reader.fail("after top-level value");
    return undefined;
  } catch (error) {
    if (error instanceof Finding) return error.message;
    // The JSON is nested deeper than the stack of this process allows. Go refuses more than 10,000
    // levels.
    if (error instanceof RangeError) return TOO_DEEP;
    throw error;
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The next character that is not a space. It is not consumed. */
  peek(): string | undefined {
    while (/[ \t\r\n]/.test(this.#character() ?? "")) this.#at++;
    return this.#character();
  }

  fail(where: string): never {
    const found = this.#character();
    throw new Finding(found === undefined ? END : `invalid character ${quoted(found)} ${where}`);
  }

  value(where = "looking for beginning of value"): void {
    const first = this.peek();
    const literal = LITERALS.find((one) => one[0] === first);
    if (first === "{") this.#members("}", () => this.#member());
    else if (first === "[") this.#members("]", () => this.value());
    else if (first === '"') this.#string();
    else if (literal !== undefined) this.#literal(literal);
    else if (first !== undefined && /[-0-9]/.test(first)) this.#number();
    else this.fail(where);
  }

  /** Reads the members between two brackets, separated by commas. */
  #members(end: "}" | "]", read: () => void): void {
    this.#at++;
    if (this.peek() === end) {
      this.#at++;
      return;
    }
    for (;;) {
      read();
      const next = this.peek();
      if (next !== end && next !== ",")
        this.fail(end === "}" ? "after object key:value pair" : "after array element");
      this.#at++;
      if (next === end) return;
    }
  }

  #member(): void {
    if (this.peek() !== '"') this.fail("looking for beginning of object key string");
    this.#string();
    if (this.peek() !== ":") this.fail("after object key");
    this.#at++;
    this.value();
  }

  #string(): void {
    this.#at++;
    for (;;) {
      const character = this.#character();
      if (character === undefined || character < " ") this.fail("in string literal");
      this.#at++;
      if (character === '"') return;
      if (character === "\\") this.#escape();
    }
  }

  #escape(): void {
    const character = this.#character();
    if (character === undefined || !/[bfnrt\\/"u]/.test(character))
      this.fail("in string escape code");
    this.#at++;
    if (character !== "u") return;
    for (let digit = 0; digit < 4; digit++)
      this.#take(/[0-9a-fA-F]/, "in \\u hexadecimal character escape");
  }

  #literal(word: string): void {
    for (const [index, wanted] of [...word].entries()) {
      if (this.#character() !== wanted && index > 0)
        this.fail(`in literal ${word} (expecting '${wanted}')`);
      this.#at++;
    }
  }

  #number(): void {
    if (this.#character() === "-") this.#at++;
    const first = this.#take(/[0-9]/, "in numeric literal");
    if (first !== "0") this.#digits();
    if (this.#character() === ".") {
      this.#at++;
      this.#take(/[0-9]/, "after decimal point in numeric literal");
      this.#digits();
    }
    if (!/[eE]/.test(this.#character() ?? "")) return;
    this.#at++;
    if (/[-+]/.test(this.#character() ?? "")) this.#at++;
    this.#take(/[0-9]/, "in exponent of numeric literal");
    this.#digits();
  }

  #digits(): void {
    while (/[0-9]/.test(this.#character() ?? "")) this.#at++;
  }

  #take(wanted: RegExp, where: string): string {
    const character = this.#character();
    if (character === undefined || !wanted.test(character)) this.fail(where);
    this.#at++;
    return character;
  }

  #character(): string | undefined {
    const byte = this.#bytes[this.#at];
    return byte === undefined ? undefined : String.fromCharCode(byte);
  }
}

/** The character quoted as Go prints a byte. */
function quoted(character: string): string {
  if (character === "'") return "'\\''";
  if (character === '"') return "'\"'";
  const code = character.charCodeAt(0);
  const shown = JSON.stringify(character).slice(1, -1);
  const isPrintable = code < 0x7f ? shown === character : code > 0xa0 && code !== 0xad;
  if (isPrintable || shown.length === 2) return `'${shown}'`;
  const hex = code.toString(16);
  return code < 0x80 ? `'\\x${hex.padStart(2, "0")}'` : `'\\u${hex.padStart(4, "0")}'`;
}

/** What Go's decoder calls a JSON value. */
export function goKind(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** A JSON value as Go's `%v` prints it: maps by key. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (!isObject(value)) return String(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${goText(value[key])}`).join(" ")}]`;
}

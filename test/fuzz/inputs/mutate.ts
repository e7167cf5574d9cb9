/**
 * Makes a hostile text from a valid one. It changes the structure (values of other types, odd keys, deep nesting, many
 * keys) or the characters (repetitions, control characters, half surrogate pairs, a cut). Equal seeds give equal texts.
 */

import { isObject } from "../../../src/base/json.ts";
import type { Random } from "../../../src/base/random.ts";

const NUMBERS = [0, -1, 1.5, 2 ** 31, -(2 ** 31), 2 ** 53, -(2 ** 63), 1e308, -1e308, 5e-324, 1e21];
const TEXTS = [
  "",
  " ",
  "null",
  "NaN",
  "Infinity",
  "1e400",
  "999999999999999999999999Ei",
  "0x10",
  "1_000",
  "-1",
  "100%",
  "10m0s",
  "9999999999h",
  "Never",
  "@hourly",
  "60 25 32 13 8",
  "2024-02-30T25:61:61Z",
  "a/b/c",
  "x/".repeat(50),
  "a".repeat(300),
  "a,".repeat(200),
  "\u0000",
  "\u001b[31m",
  "\u202e",
  "\ud800",
  "\udfff\ud800",
  "line\r\nline",
  "__proto__",
  "constructor",
  "toString",
  "In",
  "Gt",
  "Exists",
  "topology.kubernetes.io/zone",
  "NoSchedule",
  "x".repeat(5_000),
];
const KEYS = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "",
  " ",
  "0",
  "length",
  "a".repeat(400),
];
const SIGNS = [
  ..."[]{}:,-?#&*!|>'\"%@`\\\n\t\r .=$;<\u0000\u0007\u001b\u007f\u0085\u2028\ufeff\ud800\udc00",
  "- ",
  "? ",
  ": ",
  "[{",
  "{a: ",
  "a: [",
  "&a ",
  "*a ",
  "!a ",
  "<<: *a\n",
  "---\n",
  "...\n",
  "|\n",
  ">\n",
  "\\u0000",
  "%TAG ! x\n",
  "[[a]]\n",
  "a.b.",
  "--//\n",
  "boundary=",
  "__proto__",
  "1e9",
];
/** Lengths of repetitions. Short ones are frequent, because they take less time. */
const LENGTHS = [3, 10, 60, 400, 400, 3_000, 20_000];

export function oddValue(random: Random): unknown {
  switch (random.int(8)) {
    case 0:
      return random.pick(NUMBERS);
    case 1:
      return random.pick([null, true, false, [], {}, [null], [[]], [{}], { a: null }]);
    case 2: {
      // Sometimes deeper than the 100 levels that readers accept.
      let deep: unknown = random.pick(TEXTS);
      for (let level = random.int(130); level > 0; level--)
        deep = random.int(2) === 0 ? [deep] : { [random.pick(KEYS)]: deep };
      return deep;
    }
    case 3:
      return Object.fromEntries(
        Array.from({ length: random.int(300) }, (_, at) => [`k${at}`, random.pick(TEXTS)]),
      );
    case 4:
      return Array.from({ length: random.int(300) }, () => random.pick(TEXTS));
    default:
      return random.pick(TEXTS);
  }
}

/** Every value inside a value, as its object or list and its key. */
function placesOf(value: unknown): (readonly [object, string])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [[value, key] as const, ...placesOf(item)]);
}

/** `__proto__` is an ordinary key in a JSON text. */
function set(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** A copy of plain JSON with one to four changes. */
export function mutateValue<T>(sound: T, random: Random): T {
  const root = { value: structuredClone(sound) };
  for (let left = 1 + random.int(4); left > 0; left--) {
    const [target, key] = random.pick(placesOf(root));
    const value: unknown = Reflect.get(target, key);
    switch (random.int(7)) {
      case 0:
      case 1:
        set(target, key, oddValue(random));
        break;
      case 2:
        if (target !== root) Reflect.deleteProperty(target, key);
        if (Array.isArray(target)) target.splice(0, target.length, ...target.filter(() => true));
        break;
      case 3:
        if (Array.isArray(target)) target.push(structuredClone(value));
        else if (target !== root) set(target, random.pick(KEYS), structuredClone(value));
        break;
      case 4: {
        const [other, otherKey] = random.pick(placesOf(root));
        set(target, key, structuredClone(Reflect.get(other, otherKey)));
        break;
      }
      case 5:
        set(target, key, Array.isArray(value) ? { ...value } : [value]);
        break;
      default:
        if (typeof value === "number") set(target, key, value * (random.int(2) === 0 ? -1 : 1e15));
        else if (typeof value === "string") set(target, key, value + random.pick(TEXTS));
        else if (isObject(value)) set(value, random.pick(KEYS), oddValue(random));
    }
  }
  return root.value;
}

/** A text with one to three changes. */
export function mutateText(sound: string, random: Random): string {
  let text = sound;
  for (let left = 1 + random.int(3); left > 0; left--) {
    const at = random.int(text.length + 1);
    const end = Math.min(text.length, at + random.int(40));
    switch (random.int(6)) {
      case 0:
        text = text.slice(0, at) + repeated(random) + text.slice(at);
        break;
      case 1:
        text = text.slice(0, at) + text.slice(end);
        break;
      case 2:
        text = text.slice(0, at);
        break;
      case 3:
        text = text.slice(0, end) + text.slice(at);
        break;
      case 4:
        text = text.slice(0, at) + random.pick(SIGNS) + text.slice(end);
        break;
      default:
        text =
          random.int(4) === 0
            ? repeated(random)
            : text.replaceAll("\n", random.pick(["\r\n", "\n\n", "\n "]));
    }
  }
  return text;
}

/** One to three characters, repeated. Sometimes with a number, so that no two repetitions are equal. */
function repeated(random: Random): string {
  const unit = Array.from({ length: 1 + random.int(3) }, () => random.pick(SIGNS)).join("");
  const length = random.pick(LENGTHS);
  const times = Math.ceil(length / unit.length);
  if (random.int(4) > 0) return unit.repeat(times);
  const separator = random.pick(["\n", ",", " = 1\n", ": v\n", "="]);
  return Array.from({ length: times }, (_, at) => `k${at}${separator}`).join("");
}

/** An object without one of its fields, found by its path as complaints write it. The object itself is not changed. */
import { isObject } from "../../base/json.ts";

/** `path`: `spec.containers[0].tty`; keys may have dots in them. Undefined: there is no such field. */
export function withoutField(value: unknown, path: string): unknown {
  if (Array.isArray(value)) {
    const [step = "", index = ""] = /^\[(\d+)\]/.exec(path) ?? [];
    if (step === "" || !(Number(index) in value)) return undefined;
    const rest = path.slice(step.length).replace(/^\./, "");
    // An item keeps its place: later paths count on it.
    const item = rest === "" ? null : withoutField(value[Number(index)], rest);
    return item === undefined ? undefined : value.with(Number(index), item);
  }
  if (!isObject(value)) return undefined;
  for (const key of Object.keys(value)) {
    if (path === key)
      return Object.fromEntries(Object.entries(value).filter(([one]) => one !== key));
    const after = path.startsWith(key) ? path.slice(key.length) : "";
    if (!/^[.[]/.test(after)) continue;
    const child = withoutField(value[key], after.replace(/^\./, ""));
    if (child !== undefined) return { ...value, [key]: child };
  }
  return undefined;
}

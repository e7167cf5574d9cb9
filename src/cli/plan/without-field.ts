/** Copies an object without one field, which is given by the path in an error message. */
import { isObject } from "../../base/json.ts";

/**
 * A copy of `value` without the field at `path`, such as `spec.containers[0].tty`. Keys may contain dots. Undefined if
 * the field does not exist.
 */
export function withoutField(value: unknown, path: string): unknown {
  if (Array.isArray(value)) {
    const [step = "", index = ""] = /^\[(\d+)\]/.exec(path) ?? [];
    if (step === "" || !(Number(index) in value)) return undefined;
    const rest = path.slice(step.length).replace(/^\./, "");
    // A list item becomes null, so that later indices stay valid.
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

/**
 * Removes secrets from the objects of a support bundle. It finds them by field name and by the form of a text. Of
 * pods it also removes what their containers run.
 */
import type { KubeObject } from "../../apis/meta.ts";
import { isObject } from "../../base/json.ts";

const REMOVED = "<removed>";
/** Fields whose value is never shown. */
const FIELDS =
  /^(userData|caBundle|token|password|secret|clientSecret|privateKey|accessKey|secretKey|stringData)$/i;
/** Names in maps (annotations, environment variables) whose values are probably secret. */
const NAMES =
  /(token|secret|password|passwd|credential|private[-_.]?key|access[-_.]?key|api[-_.]?key)/i;
/** Texts that look like secrets: JWTs, AWS keys, PEM blocks, passwords in a URL. */
const LOOKS =
  /eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|-----BEGIN [A-Z ]+-----[\s\S]*?-----END [A-Z ]+-----|(?<=:\/\/)[^\s/:@]+:[^\s/@]+(?=@)/g;
/** This annotation repeats the whole object, including its secrets. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
/** Fields of a container with the program, its arguments and its environment. */
const RUNS: ReadonlySet<string> = new Set(["env", "envFrom", "args", "command", "lifecycle"]);
/** Karpenter's own pods keep these fields, because they show its settings and no secrets. */
const OWN_LABEL = "app.kubernetes.io/name";

/** The object without secrets and without managedFields. */
export function scrubbed(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  const own = metadata.labels?.[OWN_LABEL]?.startsWith("karpenter") === true;
  return cleaned({ ...object, metadata }, own) as KubeObject;
}

/** A text with everything removed that looks like a secret. */
export function scrubbedText(text: string): string {
  return text.replaceAll(LOOKS, REMOVED);
}

function cleaned(value: unknown, keepsRuns: boolean): unknown {
  if (typeof value === "string") return scrubbedText(value);
  if (Array.isArray(value)) return value.map((item) => cleaned(item, keepsRuns));
  if (!isObject(value)) return value;
  const named = value["name"];
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      if (key === LAST_APPLIED || (!keepsRuns && RUNS.has(key))) return [];
      const isSecret =
        FIELDS.test(key) ||
        (typeof item === "string" && NAMES.test(key) && !key.includes("Name")) ||
        // An environment variable: {name, value}.
        (key === "value" && typeof named === "string" && NAMES.test(named));
      return [[key, isSecret && item !== "" ? REMOVED : cleaned(item, keepsRuns)]];
    }),
  );
}

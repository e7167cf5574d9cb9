/**
 * Removes secrets from the objects of a support bundle. It finds them by field name and by the form of a text. Of
 * pods it also removes what their containers run.
 */
import type { KubeObject } from "../../apis/meta.ts";
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { isObject } from "../../base/json.ts";
import type { OptionDefinition } from "../../operator/settings/option-definition.ts";
import { OPTIONS } from "../../operator/settings/options.ts";

const REMOVED = "<removed>";
/** Fields whose value is never shown. */
const FIELDS =
  /^(userData|caBundle|token|password|secret|clientSecret|privateKey|accessKey|secretKey|stringData)$/i;
/** Names in maps (annotations, environment variables) whose values are probably secret. */
const NAMES =
  /(token|secret|password|passwd|credential|private[-_.]?key|access[-_.]?key|api[-_.]?key)/i;
/** Texts that look like secrets: JWTs, AWS keys, PEM blocks up to 20,000 characters, passwords in a URL. */
const LOOKS =
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|-----BEGIN [A-Z ]{1,40}-----[\s\S]{0,20000}?-----END [A-Z ]{1,40}-----|(?<=:\/\/)[^\s/:@]+:[^\s/@]+(?=@)/g;
/**
 * A secret that a text names before it: `token=x`, `password: x`, `"apiKey":"x"`, also with escaped quotes. The name is
 * in the first group.
 */
const NAMED =
  /((?:token|secret|password|passwd|credentials?|private[-_.]?key|access[-_.]?key|api[-_.]?key)\\?["']?\s?[=:]\s?\\?["']?)[^\s"',;&<>]{4,}/gi;
/** This annotation repeats the whole object, including its secrets. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
/** Fields of a container with the program, its arguments and its environment. */
const RUNS: ReadonlySet<string> = new Set(["env", "envFrom", "args", "command", "lifecycle"]);
/**
 * The label that marks Karpenter's own pods. They keep the fields in RUNS except `envFrom`, because these show
 * Karpenter's settings.
 */
const OWN_LABEL = "app.kubernetes.io/name";
/** Variables whose values are kept: settings, and a few others that say how the program runs. */
const KNOWN_VARIABLES: ReadonlySet<string> = new Set([
  ...Object.values<OptionDefinition>(OPTIONS).map(({ env }) => env),
  ...["AWS_REGION", "AWS_DEFAULT_REGION", "KUBERNETES_MIN_VERSION", "NODE_OPTIONS"],
  ...["SYSTEM_NAMESPACE", "TZ"],
]);
/** Domains of annotations that Kubernetes and Karpenter act on. Other annotations of a pod belong to its workload. */
const KNOWN_ANNOTATIONS = /(^|\.)(kubernetes\.io|k8s\.io|karpenter\.sh|k8s\.aws)\//;
/** Maximum depth of an object that an annotation holds as JSON. */
const MOST_NESTED = 50;

/** The object without secrets and without managedFields. */
export function scrubbed(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  const own = metadata.labels?.[OWN_LABEL]?.startsWith("karpenter") === true;
  const isWorkload =
    !own && isObject(object) && isObject(object["spec"]) && "containers" in object["spec"];
  const kept = isWorkload ? { ...metadata, ...knownAnnotations(metadata.annotations) } : metadata;
  return cleaned({ ...object, metadata: kept }, own) as KubeObject;
}

/** The text without everything that looks like a secret. */
export function scrubbedText(text: string): string {
  return text.replaceAll(LOOKS, REMOVED).replaceAll(NAMED, `$1${REMOVED}`);
}

function knownAnnotations(
  annotations: Readonly<Record<string, string>> = {},
): Pick<KubeObject["metadata"], "annotations"> {
  const kept = Object.entries(annotations).map(([key, value]) => [
    key,
    KNOWN_ANNOTATIONS.test(key) ? value : REMOVED,
  ]);
  return kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) };
}

function cleaned(value: unknown, keepsRuns: boolean): unknown {
  if (typeof value === "string") return cleanedText(value, keepsRuns);
  if (Array.isArray(value)) return value.map((item) => cleaned(item, keepsRuns));
  if (!isObject(value)) return value;
  const named = value["name"];
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      if (key === LAST_APPLIED || key === "envFrom" || (!keepsRuns && RUNS.has(key))) return [];
      if (key === "env" && Array.isArray(item)) return [[key, item.map(cleanedVariable)]];
      if (key === "args" || key === "command") return [[key, cleanedWords(item)]];
      const isSecret =
        FIELDS.test(key) ||
        (typeof item === "string" && NAMES.test(key) && !key.includes("Name")) ||
        (key === "value" && typeof named === "string" && NAMES.test(named));
      return [[key, isSecret && item !== "" ? REMOVED : cleaned(item, keepsRuns)]];
    }),
  );
}

/** Cleans a text. Some annotations hold a whole object as JSON, including user data. */
function cleanedText(text: string, keepsRuns: boolean): string {
  if (/^\s*[{[]/.test(text)) {
    try {
      return JSON.stringify(cleaned(parseBoundedJson(text, { maxDepth: MOST_NESTED }), keepsRuns));
    } catch {
      // The text begins like JSON but is not valid JSON.
    }
  }
  return scrubbedText(text);
}

/**
 * Removes the value of a variable that is no setting, because it may be secret. An example is the headers for a
 * collector of traces.
 */
function cleanedVariable(variable: unknown): unknown {
  if (!isObject(variable) || typeof variable["value"] !== "string") return cleaned(variable, true);
  const isKnown = KNOWN_VARIABLES.has(String(variable["name"]));
  return { ...variable, value: isKnown ? scrubbedText(variable["value"]) : REMOVED };
}

/** Removes secret values from command-line words: `--token=x` and `--token x` lose the x. */
function cleanedWords(words: unknown): unknown {
  if (!Array.isArray(words)) return words;
  return words.map((word: unknown, at) => {
    const before: unknown = words[at - 1];
    const isAfter = typeof before === "string" && !before.includes("=") && isSecretFlag(before);
    if (typeof word !== "string" || (isAfter && !word.startsWith("-"))) return REMOVED;
    return isSecretFlag(word) ? word.replace(/=.*$/s, `=${REMOVED}`) : scrubbedText(word);
  });
}

function isSecretFlag(word: string): boolean {
  const [flag = ""] = word.split("=");
  return flag.startsWith("-") && NAMES.test(flag);
}

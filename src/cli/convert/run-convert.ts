/**
 * Runs `karpenter convert`: reads manifests from files, folders, URLs and standard input, converts older
 * generations, and prints the result. Remarks go to standard error. The first object that cannot be converted ends
 * the run, because an incomplete migration is useless.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ConversionError, convertObject } from "../../apis/hub/conversion.ts";
import { MigrationError, migrate } from "../../apis/hub/migration.ts";
import { returnsProblem } from "../../apis/hub/returns.ts";
import { completedV1 } from "../../apis/hub/to-v1-files.ts";
import type { KubeObject, ObjectMeta } from "../../apis/meta.ts";
import { errorText } from "../../base/error-text.ts";
import { isObject, textOf } from "../../base/json.ts";
import { type Printed, printedDocument, printedJson, printedLines } from "../../base/printable.ts";
import { writeYaml } from "../../readers/write-yaml.ts";
import { fieldLines } from "../../readers/yaml-lines.ts";
import type { Found } from "../plan/documents.ts";
import { unknownFields } from "../plan/known-kinds.ts";
import { withoutField } from "../plan/without-field.ts";
import { CliError } from "../program/cli-error.ts";
import { valuesOf } from "../program/manifest-text.ts";
import { NO_OBJECTS, noInput } from "../program/no-input.ts";
import { toStderr, toStdout } from "../program/output.ts";
import { shownValue } from "../program/shown.ts";

/** Flags of `karpenter convert`, as the parser gives them. */
export interface ConvertFlags {
  readonly filename?: readonly string[];
  readonly recursive: boolean;
  readonly ignoreDefaults: boolean;
  readonly output: "yaml" | "json" | "name";
  readonly to: "v1beta1" | "v1";
}

/** An object, its place in words, and the line of each of its fields. */
interface Placed extends Found {
  readonly lineOf: (path: string) => number | undefined;
}

/** Input and output, so that tests can replace them. */
interface ConvertDoors {
  readonly out: (text: Printed) => void;
  readonly say: (line: Printed) => void;
  readonly stdin: () => string;
}

const PROCESS: ConvertDoors = {
  out: toStdout,
  say: toStderr,
  stdin: () => readFileSync(0, "utf8"),
};

const FETCH_REMEDY = "check the URL, or download it and give the file";

const BETA_NOTE = "note: the objects were written as v1beta1; --to v1 writes v1";

const ALPHA: ReadonlySet<string> = new Set(["Provisioner", "AWSNodeTemplate"]);
const BETA: ReadonlySet<string> = new Set(["NodePool", "NodeClaim", "EC2NodeClass"]);

/** Converts and prints. Rejects with CliError. */
export async function runConvert(flags: ConvertFlags, doors = PROCESS): Promise<void> {
  const { filename = [], to } = flags;
  if (filename.length === 0) throw new CliError(noInput());
  const found: Placed[] = [];
  for (const name of filename)
    for (const { text, source } of await textsOf(name, flags, doors))
      found.push(...objectsIn(text, source));
  const wanted = found.filter(({ object: { apiVersion = "", kind = "" } }) =>
    to === "v1" && apiVersion.endsWith("/v1beta1") ? BETA.has(kind) : isAlpha(apiVersion, kind),
  );
  const left = found
    .filter((one) => !wanted.includes(one))
    .flatMap(({ object }) => leftOut(object, to));
  if (wanted.length === 0) throw new CliError(left.length > 0 ? left : NO_OBJECTS);
  doors.say(printedLines(left.map((one) => `warning: ${one}`)));
  const converted: KubeObject[] = [];
  for (const one of wanted) {
    const { object, remarks: unknown } = withoutUnknown(one);
    doors.say(printedLines(unknown.map((remark) => `warning: ${remark}`)));
    try {
      if (!ALPHA.has(object.kind ?? "")) refuseIncomplete(object);
      const { objects: made, remarks } = ALPHA.has(object.kind ?? "")
        ? migrate(object, flags)
        : { objects: [object], remarks: [] };
      converted.push(...made.map((one) => (to === "v1" ? toV1(one) : one)));
      doors.say(printedLines(remarks.map((remark) => `warning: ${remark}`)));
    } catch (error) {
      if (error instanceof MigrationError || error instanceof ConversionError)
        throw new CliError(error.message);
      throw error;
    }
  }
  const { objects: completed, remarks } =
    to === "v1" ? completedV1(converted) : { objects: converted, remarks: [] };
  const ignored = completed.flatMap((one) => {
    const problem = returnsProblem(one);
    return problem === undefined ? [] : [`${one.kind} ${one.metadata.name}: ${problem}`];
  });
  doors.say(printedLines([...remarks, ...ignored].map((remark) => `warning: ${remark}`)));
  if (to === "v1beta1") doors.say(printedLines([BETA_NOTE]));
  doors.out(printed(completed, flags.output));
}

/**
 * Why an object of Karpenter is not converted. Empty if it is converted, and for kinds of others, which are skipped
 * without a message.
 */
function leftOut({ apiVersion = "", kind = "", metadata }: KubeObject, to: string): string[] {
  const version = apiVersion.split("/")[1] ?? "";
  if (!apiVersion.startsWith("karpenter.")) return [];
  const what = `${kind} ${textOf(metadata?.name)}`;
  if (kind === "Machine")
    return [`${what}: a Machine is not converted; its Provisioner's NodePool makes NodeClaims`];
  if (!BETA.has(kind)) return [];
  return to === "v1beta1" && version === "v1beta1"
    ? [`${what} is v1beta1 already; pass --to v1 to convert it to v1`]
    : [`${what} is ${version}: nothing to convert`];
}

/**
 * The object without its unknown fields, as an API server stores it, and a remark about each of them. Unknown fields in
 * the status get no remark, because a status is never converted.
 */
function withoutUnknown({ object, where, lineOf }: Placed) {
  const unknown = unknownFields(object).filter(({ path }) => !/^status\b/.test(path));
  const kept = unknown.reduce<unknown>(
    (rest, { path }) => withoutField(rest, path) ?? rest,
    object,
  );
  const what = `${object.kind} ${textOf(object.metadata?.name)}`.trim();
  const remarks = unknown.map(({ path, text }) => {
    const line = lineOf(path);
    const place = line === undefined ? where : `${where}, line ${line}`;
    return `${place}: ${what}: left out: ${text}`;
  });
  return { object: kept as KubeObject, remarks };
}

/** Throws for an object without the fields that the conversion needs. `migrate` has its own check. */
function refuseIncomplete(object: KubeObject): void {
  const parts = object as { readonly metadata?: Partial<ObjectMeta>; readonly spec?: unknown };
  const missing = (["metadata", "spec"] as const).find((part) => !isObject(parts[part]));
  if (missing === undefined) return;
  const what = `${object.kind} ${textOf(parts.metadata?.name)}`.trim();
  throw new CliError(`${what} has no ${missing}: give the whole object`);
}

function isAlpha(apiVersion: string, kind: string): boolean {
  return (
    apiVersion.startsWith("karpenter.") && apiVersion.includes("/v1alpha") && kind !== "Machine"
  );
}

function toV1(object: KubeObject): KubeObject {
  const [group = ""] = (object.apiVersion ?? "").split("/");
  return convertObject(object, `${group}/v1`);
}

interface Text {
  readonly text: string;
  readonly source: string;
}

async function textsOf(
  name: string,
  { recursive }: ConvertFlags,
  { stdin }: ConvertDoors,
): Promise<readonly Text[]> {
  if (name === "-") return [{ text: stdin(), source: "standard input" }];
  try {
    if (/^https?:\/\//.test(name)) {
      const answer = await fetch(name).catch((error: Error) => {
        // fetch's own message only says that it failed, so the cause is shown.
        throw new Error(`cannot be fetched: ${errorText(error.cause ?? error)}; ${FETCH_REMEDY}`);
      });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}; ${FETCH_REMEDY}`);
      return [{ text: await answer.text(), source: name }];
    }
    const files = filesOf(name, recursive);
    if (files.length === 0)
      throw new Error(
        `no manifest (.yaml, .yml, .json) in this folder${recursive ? "" : "; -R looks into folders in it, too"}`,
      );
    return files.map((file) => ({
      text: readFileSync(file, "utf8"),
      source: file,
    }));
  } catch (error) {
    throw new CliError(`${name}: ${(error as Error).message}`);
  }
}

/** The file itself, or the manifests in a folder by name. */
function filesOf(path: string, recursive: boolean): readonly string[] {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined) throw new Error("no such file or folder");
  if (!facts.isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((item) => {
      const inside = join(path, item.name);
      if (item.isDirectory()) return recursive ? filesOf(inside, recursive) : [];
      return /\.(ya?ml|json)$/.test(item.name) ? [inside] : [];
    });
}

/** The objects in a text. Lists are replaced by their items. */
function objectsIn(text: string, source: string): readonly Placed[] {
  const values = valuesOf(source, text);
  // Lines are seldom needed, and finding them takes as long as reading the text.
  let lines: ReturnType<typeof fieldLines> | undefined;
  return values.flatMap((value, index): readonly Placed[] => {
    const lineOf = (path: string) => {
      lines ??= fieldLines(text);
      return lines[index]?.get(path);
    };
    const where = values.length > 1 ? `${source}, document ${index + 1}` : source;
    const object = headed(value, where);
    const { kind, items } = object;
    if (!Array.isArray(items) || !kind?.endsWith("List")) return [{ where, object, lineOf }];
    return items.map((item, at) => ({
      where: `${where}, item ${at + 1}`,
      object: headed(item, `${where}, item ${at + 1}`),
      lineOf: (path) => lineOf(`items[${at}].${path}`),
    }));
  });
}

/** Checks that apiVersion and kind, if present, are text. Throws CliError. */
function headed(value: unknown, source: string): KubeObject & { readonly items?: unknown } {
  if (!isObject(value)) throw new CliError(`${source}: not a Kubernetes object`);
  for (const field of ["apiVersion", "kind"])
    if (value[field] !== undefined && typeof value[field] !== "string")
      throw new CliError(`${source}: ${field}: wanted a text, got ${shownValue(value[field])}`);
  return value as unknown as KubeObject;
}

function printed(objects: readonly KubeObject[], output: ConvertFlags["output"]): Printed {
  switch (output) {
    case "json":
      return printedJson(
        objects.map((one) => JSON.stringify(sorted(one), undefined, 4)).join("\n"),
      );
    case "name":
      return printedLines(
        objects.map(({ apiVersion = "", kind = "", metadata }) => {
          const [group] = apiVersion.split("/");
          return `${kind.toLowerCase()}.${group}/${metadata.name}`;
        }),
      );
    case "yaml":
      return printedDocument(
        objects.map((one) => writeYaml(one, { sortKeys: true, lists: "flush" })).join("---\n"),
      );
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

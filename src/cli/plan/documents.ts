/**
 * Reads manifests as kubectl does: files, folders and standard input; YAML with several documents, JSON, and Lists
 * in both. Each object keeps its place for error messages.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../../apis/meta.ts";
import { isObject } from "../../base/json.ts";
import { CliError } from "../program/cli-error.ts";
import { fileProblem } from "../program/file-problem.ts";
import { valuesOf } from "../program/manifest-text.ts";
import { shownValue } from "../program/shown.ts";

/** An object as written, and its place in words: `app.yaml, document 2`. */
export interface Found {
  readonly where: string;
  readonly object: KubeObject;
  /** Set if the object was read from an API server, which has validated it. */
  readonly live?: true;
}

const KUSTOMIZATIONS = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
const EXTENSIONS = [".yaml", ".yml", ".json"];

/** All objects of the paths, in the given order; folders by file name. `-` is standard input. */
export function readDocuments(paths: readonly string[]): Found[] {
  return paths.flatMap(filesOf).flatMap((path) => objectsOf(path, readText(path)));
}

/** The objects of one text. Throws CliError that names the place. Exported for tests. */
export function objectsOf(path: string, text: string): Found[] {
  const name = path === "-" ? "standard input" : path;
  const values = valuesOf(name, text);
  const many = values.length > 1;
  return values.flatMap((value, index) =>
    flatten(value, many ? `${name}, document ${index + 1}` : name),
  );
}

function filesOf(path: string): string[] {
  if (path === "-") return [path];
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined) throw new CliError(`${path}: no such file or folder`);
  if (!facts.isDirectory()) return [path];
  const all = readdirSync(path);
  if (all.some((name) => KUSTOMIZATIONS.includes(name))) {
    const way = `kubectl kustomize ${path} | karpenter plan -f -`;
    throw new CliError(`${path}: made for kustomize, which completes what is here; use ${way}`);
  }
  const names = all
    .filter((name) => EXTENSIONS.some((extension) => name.endsWith(extension)))
    .sort();
  if (names.length === 0) {
    throw new CliError(`${path}: no manifests here; wanted files ending in .yaml, .yml or .json`);
  }
  return names.map((name) => join(path, name));
}

/** The content of a file. Throws CliError if it cannot be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw new CliError(`${path}: ${fileProblem(error)}`);
  }
}

function flatten(value: unknown, where: string): Found[] {
  if (Array.isArray(value)) {
    return value.flatMap((one, index) => flatten(one, `${where}, item ${index + 1}`));
  }
  if (!isObject(value)) {
    throw new CliError(`${where}: wanted a Kubernetes object, got ${shownValue(value)}`);
  }
  const { kind, apiVersion, items } = value;
  if (typeof kind !== "string" || kind === "") {
    throw new CliError(`${where}: kind: missing; say what kind of object this is`);
  }
  if (typeof apiVersion !== "string" || apiVersion === "") {
    throw new CliError(`${where}: apiVersion: missing; say which version of ${kind} this is`);
  }
  if (kind === "List" && items !== null && items !== undefined && !Array.isArray(items)) {
    throw new CliError(`${where}: items: wanted a list, got ${shownValue(items)}`);
  }
  if (kind.endsWith("List") && Array.isArray(items)) {
    const itemKind = kind.slice(0, -"List".length);
    const head = itemKind === "" ? {} : { apiVersion, kind: itemKind };
    return items.flatMap((one, index) =>
      flatten(isObject(one) ? { ...head, ...one } : one, `${where}, item ${index + 1}`),
    );
  }
  const metadata = identityOf(value["metadata"], `${where}: ${kind}`);
  return [{ where, object: { ...value, metadata } as unknown as KubeObject }];
}

/**
 * The metadata. An empty namespace is removed, as kubectl does. Throws CliError if a field that identifies the
 * object has a wrong type.
 */
function identityOf(given: unknown, where: string): Record<string, unknown> {
  const metadata = given ?? {};
  if (!isObject(metadata))
    throw new CliError(`${where}: metadata: wanted an object, got ${shownValue(metadata)}`);
  for (const field of ["name", "namespace", "generateName", "uid"]) {
    const value = metadata[field] ?? "";
    if (typeof value === "string") continue;
    const unquoted = typeof value === "object" ? "" : "; put it in quotes";
    const got = `${shownValue(value)}${unquoted}`;
    throw new CliError(`${where}: metadata.${field}: wanted a string, got ${got}`);
  }
  if (metadata["namespace"] !== "") return metadata;
  const { namespace: _, ...others } = metadata;
  return others;
}

/**
 * Installs this project's CustomResourceDefinitions on a server before the checks. Without webhooks, conversion is
 * switched off, because it needs a server behind HTTPS. The checks then use only stored versions.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import type { Clock } from "../../../src/base/clock.ts";
import { deepFreeze } from "../../../src/base/json.ts";
import { within } from "../../../src/base/within.ts";
import type { Transport } from "../../../src/kube/transport/transport.ts";

const FOLDER = fileURLToPath(new URL("../../../deploy/crds/", import.meta.url));
const PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const LIMIT_MS = 20_000;

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

/** The definitions by folder. They are read once, because each group of checks installs them on several servers. */
const definitionsIn = new Map<string, readonly Definition[]>();

function read(folder: string): readonly Definition[] {
  return readdirSync(folder)
    .sort()
    .map((file) => deepFreeze(parse(readFileSync(join(folder, file), "utf8")) as Definition));
}

/** Resolves when every version of every kind is served. `folders`: where the CRDs are; by default this project's. */
export async function installCustomKinds(
  transport: Transport,
  clock: Clock,
  folders: readonly string[] = [FOLDER],
  keepConversion = false,
): Promise<void> {
  const definitions = folders.flatMap((folder) =>
    within(definitionsIn, folder, () => read(folder)),
  );
  for (const definition of definitions) {
    const body = keepConversion
      ? definition
      : { ...definition, spec: { ...definition.spec, conversion: { strategy: "None" } } };
    const { status, body: answer } = await transport.send({ method: "POST", path: PATH, body });
    if (status >= 300 && status !== 409)
      throw new Error(`${definition.metadata.name} was refused: ${JSON.stringify(answer)}`);
  }
  const paths = definitions.flatMap(({ spec }) =>
    spec.versions
      .filter(({ served }) => served)
      .map(({ name }) => `/apis/${spec.group}/${name}/${spec.names.plural}`),
  );
  const deadlineMs = clock.now() + LIMIT_MS;
  for (const path of paths) {
    while ((await transport.send({ method: "GET", path })).status !== 200) {
      if (clock.now() > deadlineMs) throw new Error(`${path} is still not served`);
      await clock.sleep(50);
    }
  }
}

/** What each kubectl printed against a real control plane. Versions that print the same share one text. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { SCRIPTS, type ScriptName, withoutChance } from "./run.ts";

export interface Transcripts {
  readonly kubernetes: string;
  /** Keyed by kubectl version (`1.33`): what each line of the script printed. */
  readonly said: Readonly<Record<string, readonly string[]>>;
}

interface Stored {
  readonly kubernetes: string;
  readonly versions: readonly string[];
  readonly lines: readonly {
    readonly line: string;
    readonly texts: readonly string[];
    /** For each version, the index of the text that it printed. */
    readonly said: readonly number[];
  }[];
}

function fileOf(script: ScriptName): string {
  return fileURLToPath(new URL(`../recorded/${script}.json.gz`, import.meta.url));
}

export function writeTranscripts(script: ScriptName, { kubernetes, said }: Transcripts): void {
  const versions = Object.keys(said);
  const lines = SCRIPTS[script].map((line, at) => {
    const all = versions.map((version) => said[version]?.[at] ?? "");
    const texts = [...new Set(all)];
    return { line, texts, said: all.map((text) => texts.indexOf(text)) };
  });
  const stored: Stored = { kubernetes, versions, lines };
  writeFileSync(fileOf(script), gzipSync(JSON.stringify(stored), { level: 9 }));
}

export function readTranscripts(script: ScriptName): Transcripts {
  const stored = JSON.parse(gunzipSync(readFileSync(fileOf(script))).toString("utf8")) as Stored;
  if (stored.lines.map(({ line }) => line).join("\n") !== SCRIPTS[script].join("\n"))
    throw new Error(`the script has changed: npm run cluster:record-kubectl -- ${script}`);
  const said = stored.versions.map((version, at) => [
    version,
    stored.lines.map(({ line, texts, said }) => withoutChance(texts[said[at] ?? 0] ?? "", line)),
  ]);
  return { kubernetes: stored.kubernetes, said: Object.fromEntries(said) };
}

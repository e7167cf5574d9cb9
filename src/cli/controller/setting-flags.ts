/** Parses `--setting NAME=VALUE`, which several commands have for flags of the controller. */
import { meantName } from "../../base/slips.ts";
import { settingsOf } from "../../operator/create-operator.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { ConfigError, parseOptions, unknownGates } from "../../operator/settings/parse-options.ts";
import { CliError } from "../program/cli-error.ts";

/**
 * The settings by flag name. Throws CliError for values that the controller would refuse and for unknown feature
 * gates.
 */
export function settingFlags(given: readonly string[]): Readonly<Record<string, string>> {
  const flags: Record<string, string> = {};
  for (const one of given) {
    const at = one.indexOf("=");
    if (at <= 0)
      throw new CliError(`--setting ${one}: wanted name=value, a flag of the controller`);
    const name = one.slice(0, at);
    const known = Object.values(OPTIONS).map(({ flag }) => flag);
    if (!known.includes(name)) throw new CliError(`--setting ${one}: ${unknownFlag(name, known)}`);
    flags[name] = one.slice(at + 1);
  }
  try {
    const options = parseOptions(flags, {});
    settingsOf(options);
    const [problem] = unknownGates(options);
    if (problem !== undefined) throw new CliError(`--setting: ${problem}`);
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(`--setting: ${error.message}`);
    throw error;
  }
  return flags;
}

function unknownFlag(name: string, known: readonly string[]): string {
  const meant = meantName(name, known);
  const remedy =
    meant === undefined ? "karpenter controller --help lists them" : `did you mean ${meant}?`;
  return `the controller has no flag --${name}; ${remedy}`;
}

/**
 * The heap keeps within the container's memory limit. V8 takes its limit at the start alone, so the process replaces
 * itself by one that has it: same process ID, no child. Node has that call since 22.15.
 */

/** Of the limit; the rest is for buffers, code and stacks. */
const HEAP_SHARE = 0.8;
const MIB = 1_024 * 1_024;

interface Process {
  readonly execPath: string;
  readonly execArgv: readonly string[];
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execve?: (file: string, args: readonly string[], env: object) => never;
}

/** `bytes`: of the container, 128 MiB or more; -1: as Node decides. Returns if it changes nothing. */
export function keepMemoryLimit(bytes: number, of: Process = process as unknown as Process): void {
  const args = limitedArguments(bytes, of);
  if (args !== undefined) of.execve?.(of.execPath, [of.execPath, ...args], of.env);
}

/** Node's arguments with the limit; undefined: there is none, or Node was started with one. Exported for tests. */
export function limitedArguments(
  bytes: number,
  { execArgv, argv, env }: Pick<Process, "execArgv" | "argv" | "env">,
): readonly string[] | undefined {
  if (bytes <= 0) return undefined;
  const given = [...execArgv, env["NODE_OPTIONS"] ?? ""].join(" ");
  if (/--max[-_]old[-_]space[-_]size/.test(given)) return undefined;
  const mib = Math.floor((bytes * HEAP_SHARE) / MIB);
  return [...execArgv, `--max-old-space-size=${mib}`, ...argv.slice(1)];
}

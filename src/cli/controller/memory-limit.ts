/**
 * Keeps the heap within the container's memory limit. V8 takes a limit only at its start. So the process replaces
 * itself (same process ID, no child) with one that has the limit. Node.js has the system call for that (`execve`) since
 * 22.15.
 */

/** The heap's share of the limit. The rest is for buffers, code and stacks. */
const HEAP_SHARE = 0.8;
const MIB = 1_024 * 1_024;

interface Process {
  readonly execPath: string;
  readonly execArgv: readonly string[];
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execve?: (file: string, args: readonly string[], env: object) => never;
}

/**
 * Replaces the process with one that has the heap limit. `bytes`: the container's limit; 0 or less leaves the limit to
 * Node.js. Returns only if the process is not replaced: nothing must change, or this Node.js has no `execve`.
 */
export function keepMemoryLimit(bytes: number, of: Process = process as unknown as Process): void {
  const args = limitedArguments(bytes, of);
  if (args !== undefined) of.execve?.(of.execPath, [of.execPath, ...args], of.env);
}

/**
 * Node's arguments with the limit. Undefined if there is no limit, or Node was started with one. Exported for
 * tests.
 */
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

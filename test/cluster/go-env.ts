/** The environment in which the tests' Go programs are built. */

/**
 * This process's environment. If the installed Go is older than a module requires, Go fetches the required
 * toolchain.
 */
export function goEnv(more: Readonly<NodeJS.ProcessEnv> = {}): NodeJS.ProcessEnv {
  return { ...process.env, GOTOOLCHAIN: "auto", ...more };
}

/** The environment in which every program of Go is built here. */

/** This process's environment. Go fetches the toolchain that a module asks for, where the installed one is older. */
export function goEnv(more: Readonly<NodeJS.ProcessEnv> = {}): NodeJS.ProcessEnv {
  return { ...process.env, GOTOOLCHAIN: "auto", ...more };
}

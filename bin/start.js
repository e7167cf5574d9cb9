/** Starts one of the programs in `dist/cli`, or says that they are not built yet. */
import { existsSync } from "node:fs";

/** `file`: without folder and extension, such as `main`. */
export async function start(file) {
  const program = new URL(`../dist/cli/${file}.js`, import.meta.url);
  if (existsSync(program)) {
    await import(program.href);
    return;
  }
  process.stderr.write("karpenter: the programs are not built yet: run npm run build\n");
  process.exitCode = 1;
}

/** Starts one of the programs in `dist/cli`, or says that they are not built yet or that their packages are missing. */
import { existsSync } from "node:fs";

/** `file`: without folder and extension, such as `main`. */
export async function start(file) {
  const program = new URL(`../dist/cli/${file}.js`, import.meta.url);
  if (!existsSync(program)) return fail("the programs are not built yet: run npm run build");
  try {
    await import(program.href);
  } catch (error) {
    // An unpacked archive of the package has no dependencies beside it.
    const missing = /^Cannot find package '([^']+)'/.exec(error?.message ?? "")?.[1];
    if (error?.code !== "ERR_MODULE_NOT_FOUND" || missing === undefined) throw error;
    fail(
      `the package ${missing} is not installed: run npm install with this package, or use karpenter-bundle of the release, which needs no other package`,
    );
  }
}

function fail(sentence) {
  process.stderr.write(`karpenter: ${sentence}\n`);
  process.exitCode = 1;
}

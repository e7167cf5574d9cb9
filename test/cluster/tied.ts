/**
 * The value for Node's `--import` that ends a program when its standard input ends: with its parent, however that
 * ends. parent/parent.go does this for Go programs.
 */
export const END_WITH_STDIN = `data:text/javascript,${encodeURIComponent(
  // The program's worker threads load this module too. They have no standard input, and end with the program.
  `import { isMainThread } from "node:worker_threads";
if (isMainThread) {
  for (const event of ["end", "error"]) process.stdin.on(event, () => process.exit(1));
  process.stdin.resume().unref();
}`,
)}`;

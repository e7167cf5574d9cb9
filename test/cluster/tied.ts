/** Ties a Node program to whoever started it: `node --import END_WITH_STDIN …` ends with its standard input, the twin of parent/parent.go. */
export const END_WITH_STDIN = `data:text/javascript,${encodeURIComponent(
  // Threads of that program load it too; they have no standard input of their own, and end with it.
  `import { isMainThread } from "node:worker_threads";
if (isMainThread) {
  for (const event of ["end", "error"]) process.stdin.on(event, () => process.exit(1));
  process.stdin.resume().unref();
}`,
)}`;

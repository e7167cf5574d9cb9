// The first step of `npm run test:aws`: makes the Python environment, or says in one line why it cannot.
import { NoPythonError, pythonPrograms } from "./python.ts";

try {
  await pythonPrograms((line) => void process.stdout.write(`${line}\n`));
} catch (error) {
  if (!(error instanceof NoPythonError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

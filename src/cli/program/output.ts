/**
 * The way out: whatever a command says to a person or a program leaves here, and only as `Printed`. A test holds that
 * nothing else in `src` names the streams of the process.
 */
import { type Printed, printable } from "../../base/printable.ts";

export function toStdout(text: Printed): void {
  process.stdout.write(text);
}

export function toStderr(text: Printed): void {
  process.stderr.write(text);
}

/** Text for people on standard output; where that has data for a program, on standard error. */
export function besides(data: boolean): (text: Printed) => void {
  return data ? toStderr : toStdout;
}

/** Whether somebody looks on. */
export function isTerminal(stream: "stdin" | "stdout" | "stderr"): boolean {
  return process[stream].isTTY === true;
}

/** The line that is there gives way to this one, which has no end; an empty one takes it away. */
export function overwriteStderr(line: string): void {
  // To the start of the line, and all that follows erased.
  process.stderr.write(`\r\u001b[K${printable(line)}`);
}

/** `failed` is told why standard output takes no more; whoever reads us may stop early (`| head`): that is an end. */
export function whenStdoutFails(failed: (error: Error) => never): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    failed(error);
  });
}

/** For a question to whoever sits at the terminal. */
export function terminal(): {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
} {
  return { input: process.stdin, output: process.stdout };
}

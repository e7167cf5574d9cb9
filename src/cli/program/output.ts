/**
 * The way out: whatever a command says to a person or a program leaves here, and only as `Printed`. A test holds that
 * nothing else in `src` names the streams of the process.
 */
import { type Printed, printable } from "../../base/printable.ts";

/** Only text that was made printable gets here, so no control character of a stranger reaches the terminal. */
export function toStdout(text: Printed): void {
  process.stdout.write(text);
}

/** The same for notes and errors. */
export function toStderr(text: Printed): void {
  process.stderr.write(text);
}

/** Text for people on standard output; where that has data for a program, on standard error. */
export function besides(data: boolean): (text: Printed) => void {
  return data ? toStderr : toStdout;
}

/** Whether the stream is a terminal. */
export function isTerminal(stream: "stdin" | "stdout" | "stderr"): boolean {
  return process[stream].isTTY === true;
}

/** Replaces the current line of standard error by this one, without ending it. An empty text clears the line. */
export function overwriteStderr(line: string): void {
  // To the start of the line, and all that follows erased.
  process.stderr.write(`\r\u001b[K${printable(line)}`);
}

/** Calls `failed` if standard output breaks. A reader that stops early (`| head`) is a normal end. */
export function whenStdoutFails(failed: (error: Error) => never): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    failed(error);
  });
}

/** For a question to the user at the terminal. */
export function terminal(): {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
} {
  return { input: process.stdin, output: process.stdout };
}

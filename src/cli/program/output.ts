/**
 * The only way to the standard streams. Text must have the type `Printed`. A test checks that no other file in
 * `src` uses the process's streams.
 */
import { type Printed, printable } from "../../base/printable.ts";

/** Writes text that was made printable, so no control character from outside reaches the terminal. */
export function toStdout(text: Printed): void {
  process.stdout.write(text);
}

/** Writes notes and errors. */
export function toStderr(text: Printed): void {
  process.stderr.write(text);
}

/**
 * Returns a function that prints text that is not part of the answer: to standard error if `data` is true, because
 * standard output then has data for a program, otherwise to standard output.
 */
export function besides(data: boolean): (text: Printed) => void {
  return data ? toStderr : toStdout;
}

/** Whether the stream is a terminal. */
export function isTerminal(stream: "stdin" | "stdout" | "stderr"): boolean {
  return process[stream].isTTY === true;
}

/** Replaces the current line of standard error by this one, without ending it. An empty text clears the line. */
export function overwriteStderr(line: string): void {
  // Moves to the start of the line and erases it.
  process.stderr.write(`\r\u001b[K${printable(line)}`);
}

/** The exit code of a program that SIGPIPE ends, as shells count it: 128 and the signal's number. */
const SIGPIPE_EXIT = 141;

/**
 * Calls `failed` if standard output breaks. A reader that stops early (`| head`) ends the program, with the exit code
 * of the command if it is known, otherwise with 141. A reader of standard error that stops early changes nothing.
 */
export function whenStdoutFails(failed: (error: Error) => never): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") failed(error);
    // A command that printed its last text returns its exit code before this runs.
    setImmediate(() => process.exit(process.exitCode ?? SIGPIPE_EXIT));
  });
  process.stderr.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

/** The terminal, to ask the user a question. */
export function terminal(): {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
} {
  return { input: process.stdin, output: process.stdout };
}

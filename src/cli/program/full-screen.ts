/**
 * A full-screen terminal for one command. It uses the alternate screen, reads single keys, and writes only changed
 * lines. When it is closed, however the process ends, the terminal's earlier content is shown again.
 */
import { emitKeypressEvents } from "node:readline";
import { type Line, printedScreen } from "./terminal.ts";

/** A key that was pressed. */
export interface PressedKey {
  readonly name?: string | undefined;
  /** The text that the key types. */
  readonly text?: string | undefined;
  readonly ctrl?: boolean | undefined;
}

type Input = NodeJS.ReadableStream & { readonly setRawMode?: (raw: boolean) => unknown };
type Output = {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
};

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[2J";
const LEAVE = "\u001b[?25h\u001b[?1049l";
/** Escape codes around one update. Terminals that know them show the update as a whole; others ignore them. */
const BEGIN_UPDATE = "\u001b[?2026h";
const END_UPDATE = "\u001b[?2026l";

/** The size to use if the terminal reports none. */
const USUAL = { columns: 80, rows: 24 };

/** Draws frames over each other on a terminal, and restores the terminal when it ends. */
export class FullScreen {
  readonly #input: Input;
  readonly #output: Output;
  readonly #onKey: (key: PressedKey) => void;
  readonly #onResize: () => void;
  #shown: readonly string[] = [];
  #isOpen = false;

  constructor(
    streams: { readonly input: Input; readonly output: Output },
    on: { readonly key: (key: PressedKey) => void; readonly resize: () => void },
  ) {
    this.#input = streams.input;
    this.#output = streams.output;
    this.#onKey = on.key;
    this.#onResize = () => {
      this.#shown = [];
      this.#output.write("\u001b[2J");
      on.resize();
    };
  }

  get size(): { readonly columns: number; readonly rows: number } {
    const { columns = USUAL.columns, rows = USUAL.rows } = this.#output;
    return { columns, rows };
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#shown = [];
    emitKeypressEvents(this.#input);
    this.#input.setRawMode?.(true);
    this.#input.on("keypress", this.#press);
    this.#input.resume();
    this.#output.on("resize", this.#onResize);
    this.#output.write(ENTER);
    process.once("exit", this.#leave);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#input.off("keypress", this.#press);
    this.#output.off("resize", this.#onResize);
    process.off("exit", this.#leave);
    this.#leave();
    this.#input.pause();
  }

  /** Writes only the lines that changed since the last frame. */
  show(lines: readonly Line[]): void {
    if (!this.#isOpen) return;
    const texts = lines.map((line) => printedScreen([line]).replace(/\n$/, ""));
    const changes = texts.flatMap((text, at) =>
      text === this.#shown[at] ? [] : [`\u001b[${at + 1};1H${text}\u001b[K`],
    );
    if (texts.length < this.#shown.length) changes.push(`\u001b[${texts.length + 1};1H\u001b[J`);
    if (changes.length > 0) this.#output.write(`${BEGIN_UPDATE}${changes.join("")}${END_UPDATE}`);
    this.#shown = texts;
  }

  readonly #leave = (): void => {
    this.#input.setRawMode?.(false);
    this.#output.write(LEAVE);
  };

  readonly #press = (
    text: string | undefined,
    key: { readonly name?: string; readonly ctrl?: boolean } | undefined,
  ): void => {
    if (key?.ctrl === true && key.name === "z") this.#suspend();
    else this.#onKey({ name: key?.name, text, ctrl: key?.ctrl });
  };

  /** Stops the process on Ctrl-Z, and gives the terminal to the shell until it continues. */
  #suspend(): void {
    this.close();
    process.once("SIGCONT", () => {
      this.open();
      this.#onResize();
    });
    process.kill(process.pid, "SIGTSTP");
  }
}

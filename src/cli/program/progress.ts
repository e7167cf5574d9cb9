/**
 * One line on a terminal that says what long work is at, each stage in the place of the last; the end takes it away,
 * so that nothing of it stands among what the command has to say.
 */

export interface Progress {
  /** What begins now. */
  stage(text: string): void;
  end(): void;
}

/** To the start of the line, and all that follows erased. */
const ERASED = "\r\u001b[K";

const NO_PROGRESS: Progress = { stage: () => undefined, end: () => undefined };

function progressLine(write: (text: string) => void): Progress {
  let isShown = false;
  return {
    stage: (text) => {
      write(`${ERASED}${text} …`);
      isShown = true;
    },
    end: () => {
      if (isShown) write(ERASED);
      isShown = false;
    },
  };
}

/** On standard error, where somebody looks on: it is a terminal, and what is printed is no data for a program. */
export function progressFor(output: string): Progress {
  const { stderr, stdout } = process;
  const isWatched = stderr.isTTY === true && (output === "text" || stdout.isTTY === true);
  return isWatched ? progressLine((text) => stderr.write(text)) : NO_PROGRESS;
}

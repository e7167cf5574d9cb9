/**
 * One line on a terminal that shows the stage of long work. Each stage replaces the last one, and the end removes
 * the line.
 */

import { isTerminal, overwriteStderr } from "./output.ts";

/** Says on standard error what a long command is doing. */
export interface Progress {
  /** Shows a new stage in place of the last one. */
  stage(text: string): void;
  end(): void;
}

const NO_PROGRESS: Progress = { stage: () => undefined, end: () => undefined };

function progressLine(): Progress {
  let isShown = false;
  return {
    stage: (text) => {
      overwriteStderr(`${text} …`);
      isShown = true;
    },
    end: () => {
      if (isShown) overwriteStderr("");
      isShown = false;
    },
  };
}

/** Progress on standard error, if that is a terminal and the output is not for a program. */
export function progressFor(output: string): Progress {
  const isWatched =
    isTerminal("stderr") && (output === "text" || output === "wide" || isTerminal("stdout"));
  return isWatched ? progressLine() : NO_PROGRESS;
}

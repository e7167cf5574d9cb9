/** Counts how often the colours or the sizes of the page changed, so that what was drawn with them is drawn again. */
import { type ReadonlySignal, signal } from "@preact/signals";

const count = signal(0);

/** Changes with the colour scheme, with forced colours, and with the font size of wide windows (`style.css`). */
export const appearance: ReadonlySignal<number> = count;

for (const query of [
  "(prefers-color-scheme: dark)",
  "(forced-colors: active)",
  "(min-width: 2200px)",
  "(min-width: 3200px)",
])
  matchMedia(query).addEventListener("change", () => {
    count.value += 1;
  });

/** The result of the real controllers for each story: the state after each step, as lines. */
import { fileURLToPath } from "node:url";

export interface Told {
  readonly kubernetes: string;
  readonly stories: Readonly<Record<string, readonly string[][]>>;
}

export const RECORDING = fileURLToPath(
  new URL("../recorded/workload-stories.json", import.meta.url),
);

/** A file that `npm run generate` writes: what the chart's, the stack's and the pages' makers hand over. */
export interface GeneratedFile {
  /** From the project's root. */
  readonly path: string;
  readonly content: string;
}

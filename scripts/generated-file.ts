/** A file that `npm run generate` writes. */
export interface GeneratedFile {
  /** The path from the project's root. */
  readonly path: string;
  readonly content: string;
}

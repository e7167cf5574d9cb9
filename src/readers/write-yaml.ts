/**
 * YAML for kubectl. Text that YAML would read as another type is quoted, and lines are not folded. An object that
 * occurs twice is written twice, as kubectl does, because anchors are hard to read and to edit.
 */
import { dump } from "js-yaml";

/** How lists are indented below their key, and in which order keys are written. */
export interface YamlStyle {
  readonly sortKeys?: boolean;
  /** `flush`: lists begin in the column of their key, as Go's YAML writer does. */
  readonly lists?: "flush";
}

/** Writes a value as YAML. Fields that are undefined are left out. */
export function writeYaml(value: unknown, style: YamlStyle = {}): string {
  try {
    return dump(value, {
      lineWidth: -1,
      quoteStyle: "double",
      skipInvalid: true,
      sortKeys: style.sortKeys === true,
      seqNoIndent: style.lists === "flush",
      noRefs: true,
    });
  } catch (error) {
    // The writer's regular expressions overflow the stack at texts of about five million characters. Then JSON is
    // written, which is valid YAML.
    if (error instanceof RangeError) return `${JSON.stringify(value)}\n`;
    throw error;
  }
}

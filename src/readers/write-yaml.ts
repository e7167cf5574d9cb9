/**
 * YAML for kubectl. Text that YAML would read as another type is quoted, and lines are not folded. An object that is
 * there twice is written twice, as kubectl does: anchors are hard to read and to edit.
 */
import { dump } from "js-yaml";

/** How lists stand below their key, and in which order keys come. */
export interface YamlStyle {
  readonly sortKeys?: boolean;
  /** `flush`: in the key's own column, as Go's writer does. */
  readonly lists?: "flush";
}

/** Fields that are undefined are left out. */
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
    // The writer's regular expressions end their stack at texts of some five million characters. JSON is YAML, too.
    if (error instanceof RangeError) return `${JSON.stringify(value)}\n`;
    throw error;
  }
}

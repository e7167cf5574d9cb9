/** YAML for kubectl. Text that YAML would read as another type is quoted, and lines are not folded. */
import { dump } from "js-yaml";

/** How lists stand below their key, and in which order keys come. */
export interface YamlStyle {
  readonly sortKeys?: boolean;
  /** `flush`: in the key's own column, as Go's writer does. */
  readonly lists?: "flush";
  /** Objects that are there twice are written twice. Default: an anchor and an alias. */
  readonly aliases?: "none";
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
      noRefs: style.aliases === "none",
    });
  } catch (error) {
    // The writer's regular expressions end their stack at texts of some five million characters. JSON is YAML, too.
    if (error instanceof RangeError) return `${JSON.stringify(value)}\n`;
    throw error;
  }
}

/**
 * Limits for each kind of text that is read. A reader checks them before it parses, so they bound the time (about 0.1 s
 * for each million characters) and the memory.
 */

/** The limits of one kind of text. A longer text is refused before a parser sees it. */
export interface TextLimits {
  /** Maximum number of characters of the whole text. A text never has more characters than bytes. */
  readonly characters: number;
  /**
   * Maximum number of lines, keys and items of one document. The parser keeps up to two records of about 125 bytes for
   * each of them. So this limit bounds the parser's memory.
   */
  readonly parts: number;
  readonly documents: number;
  /** What the user can do instead. The error message ends with it. */
  readonly remedy: string;
}

/**
 * Maximum nesting of lists and maps, including what aliases stand for. Kubernetes' own kinds stay below 60, and the
 * stack overflows only at thousands.
 */
export const MOST_NESTED = 100;

/** Maximum number of values that aliases repeat. Otherwise a text of 1 kB could stand for a billion values. */
export const MOST_REPEATED = 100_000;

const MIB = 1_048_576;

/** The limits of each kind of text, with their reasons. */
export const LIMITS = {
  /** Files that are given on the command line. A list of 5,000 pods has 3 million characters. */
  manifests: {
    characters: 64 * MIB,
    parts: 5_000_000,
    documents: 1_000_000,
    remedy: "give several smaller files, or JSON",
  },
  /** JSON files on the command line. JSON needs a tenth of YAML's memory. Node's longest string has 512 MiB. */
  jsonFiles: {
    characters: 500 * MIB,
    parts: Number.POSITIVE_INFINITY,
    documents: 1_000_000,
    remedy: "give several smaller files",
  },
  /**
   * Bodies of API requests, with kube-apiserver's limit. etcd stores at most 1.5 MiB, which is about 200,000 parts of
   * YAML.
   */
  apiBody: {
    characters: 3 * MIB,
    parts: 500_000,
    documents: 1,
    remedy: "send JSON, or a smaller object",
  },
  /** User data of instances: EC2's limit, before base64. */
  userData: {
    characters: 16_384,
    parts: 16_384,
    documents: 100,
    remedy: "load the rest from elsewhere at boot",
  },
  /** Kubeconfigs. client-go has no limit. A kubeconfig with 1,000 clusters has 4 million characters. */
  kubeconfig: {
    characters: 16 * MIB,
    parts: 1_000_000,
    documents: 1,
    remedy: "keep only the contexts that are used: kubectl config view --minify --flatten",
  },
  /** One setting of the controller. A ConfigMap cannot hold more. */
  setting: {
    characters: MIB,
    parts: 100_000,
    documents: 1,
    remedy: "shorten it",
  },
} as const satisfies Record<string, TextLimits>;

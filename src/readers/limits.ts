/**
 * Limits of text for each use. A reader checks them before it parses, so they bound its time (about 0.1 s for
 * each million characters) and its memory.
 */

/** Bounds of one use. Text beyond them is refused before a parser sees it. */
export interface TextLimits {
  /** Characters of the whole text. A text never has more characters than bytes. */
  readonly characters: number;
  /**
   * Lines, keys and items of one document. The parser keeps up to two records of about 125 bytes for each, which
   * bounds its memory where a text has a value for every second character.
   */
  readonly parts: number;
  readonly documents: number;
  /** The end of the error's sentence: what the user can do instead. */
  readonly remedy: string;
}

/** Lists and maps inside one another, aliases followed. Kubernetes' own kinds stay below 60; stacks last for thousands. */
export const MOST_NESTED = 100;

/** Values that aliases may repeat: a text of 1 kB could stand for a billion values otherwise. */
export const MOST_REPEATED = 100_000;

const MIB = 1_048_576;

/** The bounds of each use, with their reason. */
export const LIMITS = {
  /** Files of the command line. A list of 5,000 pods has 3 million characters. */
  manifests: {
    characters: 64 * MIB,
    parts: 5_000_000,
    documents: 1_000_000,
    remedy: "give several smaller files, or JSON",
  },
  /** JSON needs a tenth of the memory. Node's longest text has 512 MiB. */
  jsonFiles: {
    characters: 500 * MIB,
    parts: Number.POSITIVE_INFINITY,
    documents: 1_000_000,
    remedy: "give several smaller files",
  },
  /** Bodies of the API: kube-apiserver's limit. etcd takes 1.5 MiB, which has some 200,000 parts as YAML. */
  apiBody: {
    characters: 3 * MIB,
    parts: 500_000,
    documents: 1,
    remedy: "send JSON, or a smaller object",
  },
  /** EC2's limit on user data, before base64. */
  userData: {
    characters: 16_384,
    parts: 16_384,
    documents: 100,
    remedy: "load the rest from elsewhere at boot",
  },
  /** client-go has no limit. One with 1,000 clusters has 4 million characters. */
  kubeconfig: {
    characters: 16 * MIB,
    parts: 1_000_000,
    documents: 1,
    remedy: "keep only the contexts that are used: kubectl config view --minify --flatten",
  },
  /** One setting of the controller: a ConfigMap holds no more. */
  setting: {
    characters: MIB,
    parts: 100_000,
    documents: 1,
    remedy: "shorten it",
  },
} as const satisfies Record<string, TextLimits>;

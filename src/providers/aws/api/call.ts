/**
 * What all AWS calls share: errors, tags, filters, pages. Times are RFC 3339 text. Calls with `NextToken` return one
 * page, and `allPages` joins them. A call that fails rejects with `AwsError`.
 */

/** AWS refused a call or could not be reached. `code` is AWS's own (`InvalidInstanceID.NotFound`). */
export class AwsError extends Error {
  override readonly name = "AwsError";
  readonly code: string;
  /** The HTTP status. 0: AWS did not answer. */
  readonly status: number;
  /** The call that failed, in AWS's spelling. Set by named-calls.ts. */
  action: string | undefined;

  constructor(code: string, message: string, status = 400, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
  }
}

/** A tag. EC2 allows at most 50 tags on a resource, and no key that begins with `aws:`. */
export interface Tag {
  readonly Key: string;
  readonly Value: string;
}

/**
 * A filter of a describe call, by `tag:<key>`, `tag-key`, `subnet-id`, …. One of its values must match; values may hold
 * `*` and `?`. All filters of a call must match.
 */
export interface Filter {
  readonly Name: string;
  readonly Values: readonly string[];
}

/** Input of a call whose answer has pages. */
export interface Paged {
  readonly MaxResults?: number;
  readonly NextToken?: string;
}

/** Output of a call whose answer has pages. */
export interface Page {
  /** The token for the next page. Absent on the last page. */
  readonly NextToken?: string;
}

/** Joins all pages of a paged call: `next` is called with each token until none is left. Rejects if a token repeats. */
export async function allPages<P extends Page>(
  next: (token: { NextToken?: string }) => Promise<P>,
): Promise<readonly P[]> {
  const pages: P[] = [];
  const asked = new Set<string>();
  let token: string | undefined;
  do {
    const page = await next(token === undefined ? {} : { NextToken: token });
    pages.push(page);
    token = page.NextToken === "" ? undefined : page.NextToken;
    if (token !== undefined && asked.has(token))
      throw new Error("AWS returned the token of an earlier page again; waiting");
    asked.add(token ?? "");
  } while (token !== undefined);
  return pages;
}

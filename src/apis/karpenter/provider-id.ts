/**
 * Whether two provider IDs name one machine. Programs write them in several ways: in another case, with or
 * without a zone, with two slashes or three. Code that decides whether to end a node treats all of these as
 * equal.
 */

/** What names the machine: the last part of a provider ID, in lower case. Empty: there is none. */
export function machineOf(providerId: string | undefined): string {
  const id = providerId ?? "";
  return id.slice(id.lastIndexOf("/") + 1).toLowerCase();
}

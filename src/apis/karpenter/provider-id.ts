/**
 * Whether two provider ids mean the same instance. Programs write them in several ways: in another case, with or
 * without a zone, with two slashes or three. Code that decides whether to terminate a node treats all of these as
 * equal.
 */

/** The part of a provider id that identifies the instance: its last part, in lower case. Empty: there is no id. */
export function machineOf(providerId: string | undefined): string {
  const id = providerId ?? "";
  return id.slice(id.lastIndexOf("/") + 1).toLowerCase();
}

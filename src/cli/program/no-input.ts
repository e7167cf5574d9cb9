/** What the commands that read manifests say if they get none, or if what they get has no objects. */

/** `cluster`: how the command reads a cluster instead. Absent: it cannot. */
export function noInput(cluster?: string): string {
  const files = "no input: name manifests with -f FILE";
  return cluster === undefined ? files : `${files}, or read a cluster: ${cluster}`;
}

export const NO_OBJECTS = "the input has no objects; -f takes files, folders or -";

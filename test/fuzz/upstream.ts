export function againstUpstream(_seed: number, _count: number): number {
  return 1;
}

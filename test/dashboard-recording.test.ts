/** What the page remembers of the past is bounded, and going back in time shows the right moment. */
import { describe, expect, it } from "vitest";
import { type KeptMoment, type Moment, momentAt, withMoment } from "../dashboard/src/recording.ts";

function moment(atMs: number, nodes = 1): Moment {
  const rows = new Map(Array.from({ length: nodes }, (_, index) => [`n-${index}`, {} as never]));
  return {
    atMs,
    map: { head: undefined, rows },
    money: { head: undefined, rows: new Map() },
  };
}

function recorded(count: number, nodes?: number): readonly KeptMoment[] {
  let moments: readonly KeptMoment[] = [];
  for (let at = 1; at <= count; at++) moments = withMoment(moments, moment(at * 1_000, nodes));
  return moments;
}

describe("recorded moments of the dashboard", () => {
  it("are all kept while they are few, and found by time", () => {
    const moments = recorded(10);
    expect(moments).toHaveLength(10);
    expect(momentAt(moments, 3_500)?.atMs).toBe(3_000);
    expect(momentAt(moments, 0)?.atMs).toBe(1_000);
    expect(momentAt(moments, 99_000)?.atMs).toBe(10_000);
    expect(momentAt([], 1)).toBeUndefined();
  });

  it("are thinned out when they are many: the first and the newest are kept", () => {
    const moments = recorded(5_000);
    expect(moments.length).toBeLessThanOrEqual(720);
    expect([moments[0]?.atMs, moments.at(-1)?.atMs]).toEqual([1_000, 5_000_000]);
    expect(
      moments
        .slice(-300)
        .every(
          ({ atMs }, index, all) => index === 0 || atMs - (all[index - 1]?.atMs ?? 0) === 1_000,
        ),
    ).toBe(true);
  });

  it("are fewer for a large cluster", () => {
    expect(recorded(200, 10_000).length).toBeLessThanOrEqual(60);
  });

  it("have at most 200,000 rows, however long nodes change, and more moments while few of them do", () => {
    const changing = (share: number) => {
      let moments: readonly KeptMoment[] = [];
      let rows = new Map<string, never>();
      for (let at = 1; at <= 150; at++) {
        rows = new Map(rows);
        for (let index = 0; index < 5_000; index++)
          if (at === 1 || (index + at * 37) % 100 < share) rows.set(`n-${index}`, {} as never);
        const map = { head: undefined, rows };
        moments = withMoment(moments, { ...moment(at * 1_000), map });
      }
      return moments;
    };
    const [busy, calm] = [changing(40), changing(1)];
    const different = new Set(busy.flatMap(({ map }) => [...map.rows.values()]));
    expect(different.size).toBeLessThan(200_000);
    expect(busy.length).toBeGreaterThanOrEqual(20);
    expect(calm.length).toBeGreaterThan(2 * busy.length);
  });

  it("are stored once while nothing changes, and dropped if the clock is set back before them", () => {
    const first = moment(1_000);
    const again = { ...first, atMs: 2_000 };
    const moments = withMoment([], first);
    expect(withMoment(moments, again)).toBe(moments);
    expect(withMoment(recorded(5), moment(2_500)).map(({ atMs }) => atMs)).toEqual([
      1_000, 2_000, 2_500,
    ]);
  });
});

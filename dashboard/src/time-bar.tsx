/** The slider for the time: map, money, decisions and the controller's health show what the page recorded then. */
import { clockTime } from "./format.ts";
import { goBackTo, moments, shownAtMs } from "./store.ts";

export function TimeBar() {
  const all = moments.value;
  const first = all[0];
  const last = all.at(-1);
  if (first === undefined || last === undefined || all.length < 2) return null;
  const at = shownAtMs.value;
  const index = at === undefined ? all.length - 1 : all.findLastIndex(({ atMs }) => atMs <= at);
  const says = at === undefined ? "now" : clockTime(at);
  return (
    <section class="time" aria-label="Time">
      <label>
        <span class="muted">{clockTime(first.atMs)}</span>{" "}
        <input
          type="range"
          aria-label="Go back to"
          aria-valuetext={says}
          min={0}
          max={all.length - 1}
          value={index}
          onInput={({ currentTarget: { value } }) => {
            const moment = all[Number(value)];
            goBackTo(moment === last ? undefined : moment?.atMs);
          }}
        />
      </label>
      <output class={at === undefined ? "muted" : "state warn"}>
        {at === undefined ? "now" : `▲ as it was at ${says}`}
      </output>
      {at !== undefined && (
        <button type="button" onClick={() => goBackTo(undefined)}>
          Now
        </button>
      )}
    </section>
  );
}

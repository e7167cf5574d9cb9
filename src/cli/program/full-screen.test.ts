import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { FullScreen, type PressedKey } from "./full-screen.ts";

function world() {
  const written: string[] = [];
  const raw: boolean[] = [];
  const keys: PressedKey[] = [];
  const input = Object.assign(new PassThrough(), { setRawMode: (on: boolean) => raw.push(on) });
  const output = Object.assign(new EventEmitter(), {
    columns: 100,
    rows: 30,
    write: (text: string) => written.push(text),
  });
  let resizes = 0;
  const screen = new FullScreen(
    { input, output },
    { key: (key) => keys.push(key), resize: () => resizes++ },
  );
  return { screen, input, output, written, raw, keys, resizes: () => resizes };
}

it("a full-screen command restores the terminal when it ends", () => {
  const { screen, written, raw } = world();
  const listeners = process.listenerCount("exit");
  screen.open();
  screen.close();
  screen.close();
  expect(written.join("")).toBe("\u001b[?1049h\u001b[?25l\u001b[2J\u001b[?25h\u001b[?1049l");
  expect(raw).toEqual([true, false]);
  expect(process.listenerCount("exit")).toBe(listeners);
});

it("a full-screen command writes only the lines that changed", () => {
  const { screen, written } = world();
  screen.open();
  screen.show(["one", "two", "three"]);
  written.length = 0;
  screen.show(["one", "2", "three"]);
  expect(written).toEqual(["\u001b[?2026h\u001b[2;1H2\u001b[K\u001b[?2026l"]);
  written.length = 0;
  screen.show(["one", "2", "three"]);
  expect(written).toEqual([]);
  screen.show(["one"]);
  expect(written.join("")).toContain("\u001b[2;1H\u001b[J");
  screen.close();
});

it("a full-screen command reports keys and a changed window size", async () => {
  const { screen, input, output, keys, resizes } = world();
  screen.open();
  input.write("q");
  input.write("\u001b[A");
  await expect.poll(() => keys.map(({ name }) => name)).toEqual(["q", "up"]);
  output.emit("resize");
  expect(resizes()).toBe(1);
  expect(screen.size).toEqual({ columns: 100, rows: 30 });
  screen.close();
});

it("a full-screen command escapes control characters of names", () => {
  const { screen, written } = world();
  screen.open();
  written.length = 0;
  screen.show(["a\u001b[2Jb"]);
  expect(written.join("")).toContain("a\\u001b[2Jb");
  screen.close();
});

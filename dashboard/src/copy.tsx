/** A text that people copy, with a button that copies it. */
import { useState } from "preact/hooks";
import { plain } from "./format.ts";

/** Milliseconds for which the button shows that the text was copied. */
const TOLD_MS = 2_000;

export function Copied({ label, text }: { label: string; text: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("copied");
    } catch {
      setSaid("the browser does not let this page copy: select the text");
    }
    setTimeout(() => setSaid(""), TOLD_MS);
  };
  return (
    <div class="copied">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{text.split("\n").map(plain).join("\n")}</pre>
      <p>
        <button type="button" onClick={() => void copy()}>
          {label}
        </button>{" "}
        <span role="status" class="muted">
          {said}
        </span>
      </p>
    </div>
  );
}

/** What may be done to a sandbox. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { about, act } from "./store.ts";
import type { Act } from "./wire.ts";

/** What the last act said. */
export const said = signal("");
export const actsAreOpen = signal(false);

async function carryOut(values: Readonly<Record<string, string>>): Promise<void> {
  said.value = "…";
  said.value = await act(values).catch(() => "the sandbox does not answer");
}

export function ActButton({
  values,
  children,
}: {
  values: Readonly<Record<string, string>>;
  children: ComponentChildren;
}) {
  return (
    <button type="button" onClick={() => void carryOut(values)}>
      {children}
    </button>
  );
}

export function ActsPanel() {
  const acts = about.value?.acts ?? [];
  return (
    <section class="acts" aria-label="Act in the sandbox">
      {acts.map((one) => (
        <ActForm key={one.name} act={one} />
      ))}
      <p role="status" class="said">
        {said.value}
      </p>
    </section>
  );
}

const FIRST: Readonly<Record<string, string>> = { deployment: "inflate", replicas: "10" };

function ActForm({ act: { name, label, wants } }: { act: Act }) {
  const [values, setValues] = useState<Record<string, string>>(
    Object.fromEntries(wants.map((want) => [want, FIRST[want] ?? ""])),
  );
  return (
    <div class="act">
      {wants.map((want) => (
        <label key={want}>
          {want}
          <input
            value={values[want] ?? ""}
            onInput={({ currentTarget: { value } }) => setValues({ ...values, [want]: value })}
          />
        </label>
      ))}
      <ActButton values={{ ...values, name }}>{label}</ActButton>
    </div>
  );
}

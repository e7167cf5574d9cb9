/** The actions that a person can do in a sandbox, as buttons and forms. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { about, act } from "./store.ts";
import type { SandboxAct } from "./wire.ts";

/** The result of the last action. */
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

const FIRST: Readonly<Record<string, string>> = {
  deployment: "inflate",
  replicas: "10",
  time: "10m",
  speed: "30",
};

function ActForm({ act: { name, label, wants, choices = {} } }: { act: SandboxAct }) {
  const [values, setValues] = useState<Record<string, string>>(
    Object.fromEntries(wants.map((want) => [want, choices[want]?.[0] ?? FIRST[want] ?? ""])),
  );
  return (
    <div class="act">
      {wants.map((want) => (
        <Field
          key={want}
          name={want}
          value={values[want] ?? ""}
          choices={choices[want]}
          onChange={(value) => setValues({ ...values, [want]: value })}
        />
      ))}
      <ActButton values={{ ...values, name }}>{label}</ActButton>
    </div>
  );
}

interface FieldOf {
  readonly name: string;
  readonly value: string;
  readonly choices: readonly string[] | undefined;
  readonly onChange: (value: string) => void;
}

function Field({ name, value, choices, onChange }: FieldOf) {
  if (choices === undefined)
    return (
      <label>
        {name}
        <input value={value} onInput={({ currentTarget }) => onChange(currentTarget.value)} />
      </label>
    );
  return (
    <label>
      {name}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {choices.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}

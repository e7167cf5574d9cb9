/**
 * A moto server on a free port of the loopback, and the AWS CLI pointed at any endpoint. What is started
 * here ends with `close`, or with this process.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import type { AwsApi } from "../../src/providers/aws/api/aws-api.ts";
import { createSdkApi } from "../../src/providers/aws/sdk.ts";
import { pythonPrograms } from "./python.ts";

export const REGION = "us-east-1";
const CREDENTIALS = { accessKeyId: "a", secretAccessKey: "b" };

const PROFILE_FILTER = "iam-instance-profile.arn";

export interface Moto {
  readonly url: string;
  readonly api: AwsApi;
  close(): Promise<void>;
}

export async function startMoto(): Promise<Moto> {
  const programs = await pythonPrograms();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(join(programs, "moto_server"), ["-p", String(port)], { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  process.once("exit", () => child.kill());
  await answers(url, child);
  return {
    url,
    api: withProfileFilter(sdk(url)),
    close: async () => {
      child.kill();
      await ended;
    },
  };
}

export function sdk(endpoint: string): AwsApi {
  return createSdkApi({ region: REGION, endpoint, credentials: CREDENTIALS });
}

/** moto answers 500 to the filter of instances by profile. So this filters moto's full list. */
function withProfileFilter(api: AwsApi): AwsApi {
  const { ec2 } = api;
  const describeInstances: AwsApi["ec2"]["describeInstances"] = async (input) => {
    const { Filters = [], ...rest } = input;
    const wanted = Filters.find(({ Name }) => Name === PROFILE_FILTER)?.Values;
    if (wanted === undefined) return ec2.describeInstances(input);
    const others = Filters.filter(({ Name }) => Name !== PROFILE_FILTER);
    const answer = await ec2.describeInstances({ ...rest, Filters: others });
    const Reservations = answer.Reservations.map((one) => ({
      ...one,
      Instances: one.Instances.filter((i) => wanted.includes(i.IamInstanceProfile?.Arn ?? "")),
    }));
    return { ...answer, Reservations };
  };
  return { ...api, ec2: { ...ec2, describeInstances } };
}

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `aws <words> --endpoint-url <endpoint>`; the words are split as by a shell. */
export async function awsCli(endpoint: string, words: readonly string[]): Promise<CliResult> {
  const program = join(await pythonPrograms(), "aws");
  const env = {
    PATH: process.env["PATH"],
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    AWS_DEFAULT_REGION: REGION,
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_PAGER: "",
  };
  return new Promise((resolve) => {
    const args = [...words, "--endpoint-url", endpoint];
    execFile(program, args, { env, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** Runs `awsCli` and parses its JSON. Throws with the CLI's error text. */
export async function awsJson<T>(endpoint: string, words: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await awsCli(endpoint, [...words, "--output", "json"]);
  if (code !== 0) throw new Error(`aws ${words.join(" ")}: ${stderr.trim()}`);
  return (stdout.trim() === "" ? undefined : JSON.parse(stdout)) as T;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        resolve(typeof address === "object" && address !== null ? address.port : 0),
      );
    });
  });
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null) throw new Error(`moto_server ended with ${child.exitCode}`);
    try {
      await fetch(`${url}/moto-api/data.json`);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  throw new Error("moto_server does not answer after a minute");
}

/** The calls of STS: who we are. */

export interface GetCallerIdentityOutput {
  readonly Account: string;
  readonly Arn: string;
  readonly UserId: string;
}

export interface StsApi {
  getCallerIdentity(input: Readonly<Record<string, never>>): Promise<GetCallerIdentityOutput>;
}

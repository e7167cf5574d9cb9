/** The calls of STS: the identity of the controller. */

/** The account and role of the controller's credentials. */
export interface GetCallerIdentityOutput {
  readonly Account: string;
  readonly Arn: string;
  readonly UserId: string;
}

/** The STS calls that are used. */
export interface StsApi {
  getCallerIdentity(input: Readonly<Record<string, never>>): Promise<GetCallerIdentityOutput>;
}

import { EXIT } from './exit.ts'

/** The end of `spillway --help`. */
export const EXIT_CODES: string = `Exit codes:
  ${EXIT.ok}   success
  ${EXIT.failure}   a policy is invalid, or a server or a file fails
  ${EXIT.usage}   wrong usage
  ${EXIT.noVerdict}   no verdict: the log has no requests, or too little of it could be read
  ${EXIT.threshold}  more requests are denied than --deny-at-most allows`

/** The end of each command's help. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  replay: `Examples:
  spillway replay access.log --policy policies.json --html report.html
  gunzip -c access.log.*.gz | spillway replay - --policy policies.json
  spillway replay access.log --policy policies.json --deny-at-most 0.1%
  spillway replay access.log --policy policies.json \\
    --format '$remote_addr [$time_local] "$request" $status $http_x_api_key'`,
  suggest: `Examples:
  spillway suggest access.log --deny-at-most 0.1%
  spillway suggest access.log --key header:x-api-key --per minute --output policies.json`,
  inspect: `Example:
  spillway inspect redis://localhost 203.0.113.66 --policy policies.json`,
  reset: `Example:
  spillway reset postgres://localhost/app 203.0.113.66 --policy policies.json`,
  check: `Examples:
  spillway check policies.json --strict
  spillway check --redis redis://localhost`,
  export: `Example:
  spillway export app.mjs > policies.json && spillway replay access.log --policy policies.json`,
}

import { QuotaError } from '@spillway/core'
import { Command, CommanderError, Option } from 'commander'
import { check } from './commands/check.ts'
import { exportPolicies } from './commands/export.ts'
import { inspect, reset } from './commands/live.ts'
import { several, wholeFrom } from './commands/options.ts'
import { replay } from './commands/replay.ts'
import { suggest } from './commands/suggest.ts'
import { top } from './commands/top.ts'
import { EXIT } from './exit.ts'
import { EXAMPLES, EXIT_CODES } from './help.ts'
import { type Io, UserError } from './io.ts'
import { FORMAT_NAMES } from './log/formats.ts'

/**
 * Runs the program with the arguments after its name. Returns its exit code: 0, 1 for a failure, 2 for wrong use, 3
 * without a verdict, 99 for a missed threshold. Failures are printed as one sentence, and never thrown.
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  let exitCode = 0
  const done = async (work: Promise<number>): Promise<void> => {
    exitCode = await work
  }
  try {
    await programOf(io, done).parseAsync(args as string[], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    io.stderr.write(`spillway: ${withoutPasswords((error as Error).message)}\n`)
    if (error instanceof UserError) return error.exitCode
    return error instanceof QuotaError ? EXIT.usage : EXIT.failure
  }
}

/** Messages quote the arguments, in which a URL may stand anywhere. */
function withoutPasswords(text: string): string {
  const hidden = (word: string): string => {
    const [start, end] = [word.indexOf('://') + 3, word.lastIndexOf('@')]
    return start > 3 && end >= start ? `${word.slice(0, start)}…${word.slice(end)}` : word
  }
  return text.split(/(\s)/).map(hidden).join('')
}

/** Options that were renamed, too different for commander to suggest the new name. */
const RENAMED = [
  ['--refuse-at-most', '--deny-at-most'],
  ['--refusals', '--denials'], // cspell:ignore refusals
] as const

function withNewName(message: string): string {
  const renamed = RENAMED.find(([old]) => message.startsWith(`error: unknown option '${old}`))
  return renamed ? `${message}(Did you mean ${renamed[1]}?)\n` : message
}

const ipv6Prefix = (): Option =>
  new Option('--ipv6-prefix <bits>', 'the leading bits of an IPv6 address that identify one client')
    .argParser(wholeFrom(32, 128))
    .default(56)

const logOptions = (command: Command): Command =>
  command
    .argument('[log...]', 'access logs, plain or gzip, in any order; - or none is standard input')
    .option(
      '--format <format>',
      `the format of the lines: ${FORMAT_NAMES.join(', ')}, or a format string of nginx or Apache`,
      'auto',
    )
    .option('--field <name=path>', 'the JSON field of time, ip, method, path, header:NAME …; repeatable', several, [])
    .option(
      '--trust-proxy <hops>',
      'read the client from X-Forwarded-For, past this many proxies of yours',
      wholeFrom(1, 64),
    )
    .addOption(ipv6Prefix())
    .option(
      '--unreadable-at-most <share>',
      `exit with ${EXIT.noVerdict} if more lines than this cannot be read, or are out of order`,
      '1%',
    )
    .option('--json', 'print JSON')

const liveOptions = (command: Command): Command =>
  command
    .argument('<url>', 'redis://…, rediss://… or postgres://…')
    .argument('<key...>', 'the key; for policies with several selectors, one part for each')
    .requiredOption('--policy <file>', 'required: the policies in force, as JSON; repeatable', several)
    .option('--prefix <prefix>', 'the prefix of the keys in Redis')
    .option('--table <table>', 'the table in PostgreSQL')
    .option('--schema <schema>', 'its schema')
    .addOption(ipv6Prefix())
    .option('--hash-keys-from <variable>', 'the environment variable with the secret that hashes keys')
    .option('--json', 'print JSON')

function programOf(io: Io, done: (work: Promise<number>) => Promise<void>): Command {
  const program = new Command('spillway')
    .description('Test rate limits on access logs, check policies, and inspect live keys.')
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(withoutPasswords(text)),
      outputError: (text, write) => write(withNewName(text)),
    })
    .exitOverride()
    .showHelpAfterError('(see spillway COMMAND --help)')
    .version(io.version ?? 'unknown')
    .addHelpText('after', `\n${EXIT_CODES}`)

  logOptions(program.command('replay'))
    .description('replay access logs on policies: who would have been denied, and when')
    .requiredOption('--policy <file>', 'required: policies to try, as JSON; give several to compare them', several)
    .option('--html <file>', 'write a report with charts, as one file')
    .option('--denials <file>', 'write each denied request as a line of JSON')
    .option(
      '--deny-at-most <share>',
      `exit with ${EXIT.threshold} if more requests than this are denied: a percentage, such as 0.1%`,
    )
    .option('--key <key>', 'a key to follow over time in the report; repeatable', several, [])
    .option('--max-keys <count>', 'the most keys a policy keeps', wholeFrom(1, 100_000_000), 1_000_000)
    .action((logs, options) => done(replay(logs, options, io)))

  logOptions(program.command('suggest'))
    .description('find the tightest quotas that would have denied at most a share of a log')
    .option('--deny-at-most <share>', 'the percentage of requests that may be denied', '0.1%')
    .option(
      '--key <selector>',
      'the key to count by: ip, header:NAME, claim:NAME …; default: ip; repeatable',
      several,
      [],
    )
    .option('--per <period>', 'second, minute, hour or day; default: all; repeatable', several, [])
    .option('--output <file>', 'write the suggestions as policies')
    .action((logs, options) => done(suggest(logs, options, io)))

  liveOptions(program.command('inspect'))
    .description('report the remaining units of a live key in each policy; consumes none')
    .action((url, key, options) => done(inspect(url, key, options, io)))

  liveOptions(program.command('reset'))
    .description('reset a live key: its next request has the full quota')
    .option('--yes', 'do not ask for confirmation')
    .action((url, key, options) => done(reset(url, key, options, io)))

  program
    .command('top')
    .description('list the live keys that have used the most, redrawn each second on a terminal')
    .option('--redis <url>', 'redis://… or rediss://…')
    .option('--postgres <url>', 'postgres://…')
    .requiredOption('--policy <file>', 'required: the policies in force, as JSON; repeatable', several)
    .option('--name <policy>', 'only the policy of this name')
    .option('--limit <keys>', 'the most keys of a policy', wholeFrom(1, 1_000), 50)
    .option('--limited', 'only keys that are limited now')
    .option('--blocked', 'only keys that are blocked now')
    .option('--prefix <prefix>', 'the prefix of the keys in Redis')
    .option('--table <table>', 'the table in PostgreSQL')
    .option('--schema <schema>', 'its schema')
    .option('--hash-keys-from <variable>', 'the environment variable with the secret that hashes keys')
    .option('--json', 'print JSON once')
    .action((options) => done(top(options, io)))

  program
    .command('check')
    .description('validate policies and a Redis server, describe each, and warn of traps')
    .argument('[file...]', 'policies, as JSON')
    .option('--redis <url>', 'a server to check: its version, whether scripts may run, and which keys it evicts')
    .option('--prefix <prefix>', 'the prefix of the keys in Redis')
    .option('--strict', 'exit with 1 if there are traps')
    .option('--json', 'print JSON')
    .action((files, options) => done(check(files, options, io)))

  program
    .command('export')
    .description('run a module, and print the policies of its limiters as JSON for replay')
    .argument('<module>', 'the JavaScript module that builds the limiters, such as app.mjs')
    .option('--timeout <seconds>', 'how long the module may take to load', wholeFrom(1, 3600), 30)
    .action((path, options) => done(exportPolicies(path, options, io)))

  for (const command of program.commands) command.addHelpText('after', `\n${EXAMPLES[command.name()]}`)
  return program
}

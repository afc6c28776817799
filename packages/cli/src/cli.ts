import { QuotaError } from '@spillway/core'
import { Command, CommanderError, Option } from 'commander'
import { check } from './commands/check.ts'
import { inspect, reset } from './commands/live.ts'
import { several, wholeFrom } from './commands/options.ts'
import { replay } from './commands/replay.ts'
import { suggest } from './commands/suggest.ts'
import { EXIT } from './exit.ts'
import { type Io, UserError } from './io.ts'

/**
 * Runs the program with the arguments after its name, and returns its exit code: 0, 1 for a failure, 2 for wrong use, 3
 * where there is nothing to judge, 99 for a threshold that is missed. Whatever fails is one sentence, and never thrown.
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

/** Messages show what was given, also where a URL stands in the wrong place. */
function withoutPasswords(text: string): string {
  const hidden = (word: string): string => {
    const [start, end] = [word.indexOf('://') + 3, word.lastIndexOf('@')]
    return start > 3 && end >= start ? `${word.slice(0, start)}…${word.slice(end)}` : word
  }
  return text.split(/(\s)/).map(hidden).join('')
}

const ipv6Prefix = (): Option =>
  new Option('--ipv6-prefix <bits>', 'how many leading bits of an IPv6 address make one client')
    .argParser(wholeFrom(32, 128))
    .default(56)

const logOptions = (command: Command): Command =>
  command
    .argument('[log...]', 'access logs, plain or gzip, in any order; - or none is standard input')
    .addOption(
      new Option('--format <format>', 'what the lines are')
        .choices(['auto', 'combined', 'common', 'json'])
        .default('auto'),
    )
    .option(
      '--field <name=path>',
      'where a JSON log keeps time, ip, method, path, header:NAME …; repeatable',
      several,
      [],
    )
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
    .argument('<key...>', 'the key; of policies that count by several parts, each part')
    .requiredOption('--policy <file>', 'the policies in force, as JSON; repeatable', several)
    .option('--prefix <prefix>', 'what keys begin with in Redis')
    .option('--table <table>', 'the table in PostgreSQL')
    .option('--schema <schema>', 'its schema')
    .addOption(ipv6Prefix())
    .option('--hash-keys-from <variable>', 'the environment variable with the secret by which keys are hashed')
    .option('--json', 'print JSON')

function programOf(io: Io, done: (work: Promise<number>) => Promise<void>): Command {
  const program = new Command('spillway')
    .description('What a rate limit would have done, and what it will do.')
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(withoutPasswords(text)),
    })
    .exitOverride()
    .showHelpAfterError('(spillway COMMAND --help says more)')

  logOptions(program.command('replay'))
    .description('replay access logs on policies: who would have been refused, and when')
    .requiredOption('--policy <file>', 'policies to try, as JSON; give several to compare them', several)
    .option('--html <file>', 'write a report with charts, as one file')
    .option('--refusals <file>', 'write every refusal, as lines of JSON')
    .option('--refuse-at-most <share>', `exit with ${EXIT.threshold} if more is refused than this, such as 0.1%`)
    .option('--key <key>', 'a key to follow over time in the report; repeatable', several, [])
    .option('--max-keys <count>', 'the most keys a policy keeps', wholeFrom(1, 100_000_000), 1_000_000)
    .action((logs, options) => done(replay(logs, options, io)))

  logOptions(program.command('suggest'))
    .description('find the tightest quotas that would have refused no more than a share of a log')
    .option('--refuse-at-most <share>', 'the share of requests that may be refused', '0.1%')
    .option(
      '--key <selector>',
      'whom to count: ip, header:NAME, claim:NAME …; ip unless given; repeatable',
      several,
      [],
    )
    .option('--per <period>', 'second, minute, hour or day; all unless given; repeatable', several, [])
    .option('--output <file>', 'write the suggestions as policies')
    .action((logs, options) => done(suggest(logs, options, io)))

  liveOptions(program.command('inspect'))
    .description('tell what a live key has left, of each policy; takes nothing')
    .action((url, key, options) => done(inspect(url, key, options, io)))

  liveOptions(program.command('reset'))
    .description('forget a live key: its next request finds everything there')
    .option('--yes', 'do not ask')
    .action((url, key, options) => done(reset(url, key, options, io)))

  program
    .command('check')
    .description('validate policies and a Redis server, say what each does, and warn of traps')
    .argument('[file...]', 'policies, as JSON')
    .option('--redis <url>', 'a server to check: its version, whether scripts may run, and which keys it evicts')
    .option('--prefix <prefix>', 'what keys begin with in Redis')
    .option('--strict', 'exit with 1 where there are traps')
    .option('--json', 'print JSON')
    .action((files, options) => done(check(files, options, io)))

  return program
}

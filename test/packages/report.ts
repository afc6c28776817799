import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  type ExtractorLogLevel,
  type ExtractorMessage,
} from '@microsoft/api-extractor'
import { type Entry, entriesOf, forWorkersOnly, installed } from './app.ts'

/** What a package shows of itself at one of its entries. */
export interface Report {
  readonly entry: Entry
  /** Every public declaration, without its comments. */
  readonly text: string
  /** What is amiss in them. */
  readonly complaints: readonly string[]
}

const COMPILER = {
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023', 'webworker'],
  types: [],
  strict: true,
  // declarations.test.ts checks the declarations.
  skipLibCheck: true,
}
// What Workers have contradicts what others have.
const compilerOfWorkers = (app: string): object => ({
  ...COMPILER,
  lib: ['es2023'],
  typeRoots: [join(app, 'node_modules/@cloudflare')],
  types: ['workers-types'],
})

const ERROR = { logLevel: 'error' as ExtractorLogLevel.Error }
const NONE = { logLevel: 'none' as ExtractorLogLevel.None }
const UNIMPORTANT = {
  // An entry may use names that another entry exports, and build its types from parts that it keeps to itself.
  'ae-forgotten-export': NONE,
  'ae-unresolved-link': NONE,
  // Everything that is exported is public: nothing is tagged.
  'ae-missing-release-tag': NONE,
  // Shown in the report itself.
  'ae-undocumented': NONE,
}

/** Reports the public surface of every package, from its declarations as they are installed in an app. */
export function reportsOf(app: string): readonly Report[] {
  const entries = entriesOf(app)
  return [
    ...reportsBy(
      COMPILER,
      app,
      entries.filter((entry) => !forWorkersOnly(entry)),
    ),
    ...reportsBy(compilerOfWorkers(app), app, entries.filter(forWorkersOnly)),
  ]
}

/** One compiler for all of them: most of its work is the same each time. */
function reportsBy(compilerOptions: object, app: string, entries: readonly Entry[]): readonly Report[] {
  const files = entries.map(({ types }) => types)
  const configs = entries.map((entry) => configOf(app, entry, { compilerOptions, files }))
  const compilerState = CompilerState.create(configs[0] as ExtractorConfig, { additionalEntryPoints: files })
  return configs.map((config, i) => {
    const complaints: string[] = []
    const messageCallback = (message: ExtractorMessage): void => {
      // TSDoc writes @defaultValue; editors, TypeDoc and the options page read @default.
      const isDefault = message.messageId === 'tsdoc-undefined-tag' && message.text.includes('"@default"')
      if (message.logLevel === ERROR.logLevel && !isDefault)
        complaints.push(message.formatMessageWithLocation(config.projectFolder))
      message.handled = true
    }
    Extractor.invoke(config, { compilerState, localBuild: true, messageCallback })
    return { entry: entries[i] as Entry, text: readFileSync(config.reportFilePath, 'utf8'), complaints }
  })
}

function configOf(app: string, { name, specifier, types }: Entry, overrideTsconfig: object): ExtractorConfig {
  const folder = installed(app, name)
  const reportFolder = join(app, 'reports', specifier)
  mkdirSync(reportFolder, { recursive: true })
  return ExtractorConfig.prepare({
    configObject: {
      newlineKind: 'lf',
      projectFolder: folder,
      mainEntryPointFilePath: types,
      compiler: { overrideTsconfig },
      apiReport: {
        enabled: true,
        reportFileName: 'report',
        reportFolder,
        reportTempFolder: reportFolder,
        // What public types are made of shows in them: most options of policies are reported in parts.
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: ERROR },
        extractorMessageReporting: { default: ERROR, ...UNIMPORTANT },
        // An example is plain code, as editors show it; by the letter of TSDoc its braces would be amiss.
        tsdocMessageReporting: {
          default: NONE,
          'tsdoc-undefined-tag': ERROR,
          'tsdoc-param-tag-with-invalid-name': ERROR,
        },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(folder, 'package.json'),
  })
}

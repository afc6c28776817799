// The options page: every option and every field of a decision, read from the exported types and their doc comments.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { TABLES, type Table } from './option-tables.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

const INTRODUCTION = `# Options

Every option, its type and its default, and every field of a decision. A duration is text such as \`'250ms'\`, \`'1s'\`,
\`'5m'\`, \`'1h'\` or \`'1d'\`, or a number of milliseconds. An unknown or invalid option throws a
[QuotaError](errors.md) when the limiter is built.
`

/** The page as Markdown. Throws if an option has no description, or an optional one no \`@default\`. */
export function optionsPage(): string {
  const config = ts.getParsedCommandLineOfConfigFile(join(root, 'site/tsconfig.reference.json'), undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (problem) => {
      throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'))
    },
  })
  const files = new Set(TABLES.map(({ file }) => join(root, 'packages', file)))
  const program = ts.createProgram({ rootNames: [...files], options: config?.options ?? {} })
  return [INTRODUCTION, ...TABLES.map((table) => render(table, program))].join('\n')
}

function render({ heading, text, file, type, besides, guides = {} }: Table, program: ts.Program): string {
  const listed = besides ? namesOf(besides, program) : []
  const common = besides ? namesOf(`${file} CommonOptions`, program) : []
  const members = membersOf(file, type, program).filter(({ name }) => !listed.includes(name) || common.includes(name))
  const isDecision = type === 'Decision'
  const rows = members.map((member) => {
    // Of options that exclude each other, the one that is not `never`.
    const node = member.declarations?.find((each) => ts.isPropertySignature(each) && each.type?.getText() !== 'never')
    const description = sentence(node === undefined ? '' : docsOf(node))
    if (node === undefined || !ts.isPropertySignature(node) || description === '') {
      throw new Error(`packages/${file}: ${type}.${member.name} has no description`)
    }
    const guide = guides[member.name] ?? guides['*']
    const more = guide === undefined ? '' : ` [More](${guide})`
    const cells = [`\`${member.name}\``, code(node.type?.getText() ?? ''), `${description}${more}`]
    if (!isDecision) cells.splice(2, 0, defaultOf(node, `${type}.${member.name}`))
    return `| ${cells.join(' | ')} |`
  })
  const head = isDecision
    ? ['| field | type | meaning |', '| --- | --- | --- |']
    : ['| option | type | default | meaning |', '| --- | --- | --- | --- |']
  return [`## ${heading}`, '', text, '', ...head, ...rows, ''].join('\n')
}

function membersOf(file: string, type: string, program: ts.Program): readonly ts.Symbol[] {
  const source = program.getSourceFile(join(root, 'packages', file))
  const declaration = source?.statements.find(
    (each): each is ts.InterfaceDeclaration | ts.TypeAliasDeclaration =>
      (ts.isInterfaceDeclaration(each) || ts.isTypeAliasDeclaration(each)) && each.name.text === type,
  )
  if (declaration === undefined) throw new Error(`packages/${file} declares no type ${type}`)
  const checker = program.getTypeChecker()
  return checker.getPropertiesOfType(checker.getTypeAtLocation(declaration))
}

const namesOf = (fileAndType: string, program: ts.Program): readonly string[] => {
  const [file = '', type = ''] = fileAndType.split(' ')
  return membersOf(file, type, program).map(({ name }) => name)
}

function defaultOf(node: ts.Node, name: string): string {
  const tag = ts.getJSDocTags(node).find(({ tagName }) => tagName.text === 'default')
  if (tag) return sentence(ts.getTextOfJSDocComment(tag.comment) ?? '')
  if (ts.isPropertySignature(node) && node.questionToken) throw new Error(`${name} is optional and has no @default`)
  return 'required'
}

const docsOf = (node: ts.Node): string =>
  ts
    .getJSDocCommentsAndTags(node)
    .map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '')
    .join(' ')

/** One line, for a cell of a table. */
const sentence = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '\\|').trim()

/** A type as users write it, without the parameters that stand for the framework's request. */
const code = (type: string): string =>
  `\`${type
    .replace(/\s+/g, ' ')
    .replace(/Awaitable<([^<>]*(?:<[^<>]*>)?[^<>]*)>/g, '$1 | Promise<$1>')
    .replace(
      /\b(KeyOption|MatchOption|PolicyOptions|CostOption|DeniedOption|DecisionEvent|Claims|Decision)<[^>]*>/g,
      '$1',
    )
    .replace(/\((\w+) & Named<Name>\)/g, '$1')
    .replace(/\(request: R\)/g, '(request)')
    .replace(/\(response: S\)/g, '(response)')
    .replaceAll('|', '\\|')}\``

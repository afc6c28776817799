import { type ModulesContainer, Reflector } from '@nestjs/core'

// What @nestjs/graphql names the options of its module, and the marks of methods that resolve fields.
const OPTIONS = 'GqlModuleOptions'
const MARKS = ['graphql:resolve_property', 'graphql:resolve_reference']

/** The part of the options that is read. */
interface Options {
  readonly fieldResolverEnhancers?: readonly string[]
}

const reflector = new Reflector()

/** Whether a method resolves a field of a GraphQL type, and not a query, a mutation or a subscription. */
export const resolvesField = (method: (...args: never[]) => unknown): boolean =>
  MARKS.some((mark) => reflector.get<unknown>(mark, method) === true)

/** Whether Nest calls guards before it resolves fields: it does if the options say so. */
export const guardsFields = (modules: ModulesContainer): boolean =>
  [...modules.values()].some(({ providers }) => {
    const options = providers.get(OPTIONS)?.instance as Options | undefined
    return options?.fieldResolverEnhancers?.includes('guards') === true
  })

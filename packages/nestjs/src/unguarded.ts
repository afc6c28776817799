import { type ModulesContainer, Reflector } from '@nestjs/core'
import { overridesOn } from './decorators.ts'
import { RateLimitGuard } from './guard.ts'

type Target = Parameters<typeof overridesOn>[0]

// What @nestjs/graphql and @nestjs/websockets name the options of a module and the marks of methods.
const GRAPHQL_OPTIONS = 'GqlModuleOptions'
const FIELDS = ['graphql:resolve_property', 'graphql:resolve_reference']
const MESSAGES = ['websockets:message_mapping']
const GUARDS = '__guards__'

/** The part of the options that is read. */
interface GraphqlOptions {
  readonly fieldResolverEnhancers?: readonly string[]
}

const reflector = new Reflector()

/**
 * What to write if Nest calls no guard for a method that a decorator changes: it does not for fields of GraphQL types, unless
 * the options say so, and until version 12 not for messages of WebSockets, unless a decorator names the guard.
 */
export function missingGuard(target: Target, method: Target, modules: ModulesContainer): string | undefined {
  const marked = (marks: readonly string[]): boolean =>
    marks.some((mark) => reflector.get<unknown>(mark, method) === true)
  if (isChanged(method) && marked(FIELDS) && !guardsFields(modules)) {
    return "GraphQLModule.forRoot({ fieldResolverEnhancers: ['guards'], … })"
  }
  const isUnguarded = marked(MESSAGES) && ![target, method].some(hasGuard)
  return isUnguarded && [target, method].some(isChanged) ? '@UseGuards(RateLimitGuard) above the gateway' : undefined
}

const isChanged = (target: Target): boolean => Object.keys(overridesOn(target)).length > 0

const guardsFields = (modules: ModulesContainer): boolean =>
  [...modules.values()].some(({ providers }) => {
    const options = providers.get(GRAPHQL_OPTIONS)?.instance as GraphqlOptions | undefined
    return options?.fieldResolverEnhancers?.includes('guards') === true
  })

/** Whether `@UseGuards` names the guard: the class, one that extends it, or an instance. */
const hasGuard = (target: Target): boolean =>
  (reflector.get<readonly (object | undefined)[] | undefined>(GUARDS, target) ?? []).some(
    (guard) =>
      guard === RateLimitGuard ||
      guard instanceof RateLimitGuard ||
      (typeof guard === 'function' && guard.prototype instanceof RateLimitGuard),
  )

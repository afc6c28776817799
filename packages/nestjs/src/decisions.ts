import type { ExecutionContext } from '@nestjs/common'
import type { RequestDecision } from '@spillway/core/http'
import { processState } from '@spillway/core/internal'
import { hasArguments } from './context.ts'

/** The decisions about calls, which all copies of this module in a process share. */
const decisions = (): WeakMap<object, RequestDecision> => processState('nestjs calls', () => new WeakMap())

/** Records the decision about a call. Returns whether another limiter has counted it before. */
export function keepDecision(context: ExecutionContext, decision: RequestDecision | undefined): boolean {
  const known = callOf(context)
  const limited = known !== undefined && decisions().has(known)
  if (decision === undefined) return limited
  const call = known ?? identifyMessage(context)
  if (call !== undefined) decisions().set(call, decision)
  return limited
}

/** The decision about a call, the last one if there are several; undefined if the call was not counted. */
export const decisionOf = (context: ExecutionContext): RequestDecision | undefined => {
  const call = callOf(context)
  return call && decisions().get(call)
}

const isObject = (value: unknown): value is object => Object(value) === value

const callKeys = { http: 0, graphql: 3 } as const

/** The argument that differs with each call. All references of a query have one info. */
const keyIndexOf = (context: ExecutionContext): number => {
  const type = context.getType<keyof typeof callKeys>()
  return type === 'graphql' && !hasArguments(context) ? 0 : (callKeys[type] ?? 1)
}

/**
 * The object that identifies a call in all of the contexts that Nest makes for it: the request, the field of a GraphQL
 * query, the handler of a microservice's message, or the message of a WebSocket once `identifyMessage` has been called.
 * Undefined if there is none.
 */
function callOf(context: ExecutionContext): object | undefined {
  if (context.getType() === 'ws') return context.getArgs().find((each) => each instanceof messageClass())
  const call = [context.getArgByIndex<unknown>(keyIndexOf(context)), context.getArgByIndex<unknown>(0)].find(isObject)
  return call && context.getType() === 'rpc' ? handlerOf(call, context) : call
}

/** Objects by the objects that lead to them. */
type Tree = WeakMap<object, Tree>

const messageHandlers = (): Tree => processState('nestjs handlers', () => new WeakMap())

/** The object that identifies a handler of a message: Nest calls all handlers of an event with the same arguments. */
function handlerOf(message: object, context: ExecutionContext): object {
  // A filter's context has neither class nor handler.
  const keys = [message, context.getClass(), context.getHandler()].filter(isObject)
  return keys.reduce(branchOf, messageHandlers())
}

function branchOf(tree: Tree, key: object): Tree {
  const branch = tree.get(key) ?? new WeakMap()
  tree.set(key, branch)
  return branch
}

const messageClass = (): (new () => object) => processState('nestjs messages', () => class Message {})

/**
 * Adds an object that identifies a message of a WebSocket to its arguments, which Nest passes on to the contexts of
 * interceptors and of parameters. Nothing else is unique: the client sends many messages, payloads may be texts, and several
 * gateways get the same payload. Returns undefined for other calls.
 */
function identifyMessage(context: ExecutionContext): object | undefined {
  if (context.getType() !== 'ws') return undefined
  const message = new (messageClass())()
  const args: unknown[] = context.getArgs()
  // All others keep their index, and the pattern remains the last.
  args.push(message, args.at(-1))
  return message
}

import type { SentStep } from '@spillway/core'
import type { Call, Request, SentOp } from './messages.ts'

/** A call, and the steps that it has by their numbers. */
export interface CallToSend {
  readonly call: Call
  readonly steps: readonly SentStep[]
}

/** The request of several calls: each step of theirs is in it once. */
export function requestOf(name: string, id: number, calls: readonly CallToSend[]): Request {
  const numbers = new Map<SentStep, number>()
  const numberOf = (step: SentStep): number => {
    const known = numbers.get(step) ?? numbers.size
    numbers.set(step, known)
    return known
  }
  const sent = calls.map(({ call, steps }): Call => {
    const own = steps.map(numberOf)
    const opOf = ([policy, key, step]: SentOp): SentOp => [policy, key, own[step] as number]
    if (call[0] === 'takeEach') return [call[0], call[1].map((ops) => ops.map(opOf)), call[2] ?? null]
    return call[0] === 'list' ? [call[0], call[1], own[call[2]] as number, call[3]] : call
  })
  return { name, id, calls: sent, steps: [...numbers.keys()] }
}

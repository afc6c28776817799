import { type Duration, type KeyList, QuotaError, type RateLimiter } from '@spillway/core'
import { withoutLink } from '@spillway/core/internal'
import type { RulePolicy } from '@spillway/core/rules'
import { plain } from '../format.ts'
import { type Io, painter, widthOf } from '../io.ts'
import { pressed } from './keyboard.ts'
import { type Question, type Row, rowsOf, START, screenOf, type View } from './view.ts'

/** A policy and its limiter over a live store. */
export interface Shown {
  readonly policy: RulePolicy
  readonly limiter: RateLimiter
}

/** The output, with the height of the terminal. */
type Terminal = Io['stdout'] & { readonly rows?: number }

/** The screen of `top`: draws a policy's keys, and applies keys of the keyboard. */
export class Screen {
  readonly #policies: readonly Shown[]
  readonly #limit: number
  readonly #io: Io
  #view: View
  #list: KeyList | undefined
  #rows: readonly Row[] = []
  /** The row that a question is about. */
  #target: Row | undefined

  constructor(policies: readonly Shown[], { limit, only }: Pick<View, 'only'> & { limit: number }, io: Io) {
    this.#policies = policies
    this.#limit = limit
    this.#io = io
    this.#view = { ...START, only }
  }

  /** Reads the store, and draws. */
  async draw(): Promise<void> {
    const { policy, limiter } = this.#shown()
    const { only } = this.#view
    const list = await limiter.list({ limit: this.#limit, limited: only === 'limited', blocked: only === 'blocked' })
    this.#list = list
    this.#rows = rowsOf(list, policy.key, this.#view)
    this.#view = { ...this.#view, selected: Math.max(Math.min(this.#view.selected, this.#rows.length - 1), 0) }
    this.#write()
  }

  #write(): void {
    const { stdout, env } = this.#io
    const list = this.#list as KeyList
    const size = { width: widthOf(stdout), height: (stdout as Terminal).rows ?? 24, paint: painter(stdout, env) }
    stdout.write(screenOf(plain(list.policy), list, this.#rows, this.#view, size))
  }

  /** Applies a key, or the passing of a second if it is empty, and draws. Returns false if the program ends. */
  async press(key: string): Promise<boolean> {
    // A redraw must not move another key under the question.
    if (key === '' && isQuestion(this.#view.mode)) return true
    if (key !== '') {
      const { view, action } = pressed(this.#view, key, this.#rows.length, this.#policies.length)
      if (action === 'quit') return false
      const isAsked = isQuestion(view.mode) && view.mode !== this.#view.mode
      this.#view = isAsked ? this.#asking(view, view.mode as Question) : view
      if (action !== undefined) this.#view = { ...view, message: await this.#change(action) }
    }
    // What is asked about stays where it is.
    if (isQuestion(this.#view.mode)) this.#write()
    else await this.draw()
    return true
  }

  #shown(): Shown {
    return this.#policies[this.#view.policy] as Shown
  }

  #asking(view: View, question: Question): View {
    this.#target = this.#rows[view.selected]
    const key = plain(this.#target?.text ?? '', 40)
    const message = {
      reset: `Reset ${key}? [y/N]`,
      unblock: `Unblock ${key}? [y/N]`,
      block: `Block ${key} for, such as 15m:`,
    }
    return { ...view, message: message[question] }
  }

  /** Changes the key that was asked about, and returns what to say about it. */
  async #change(action: Question): Promise<string> {
    if (this.#target === undefined) return ''
    const { listed, text } = this.#target
    if (listed.isDigest)
      return 'The store keeps only a digest of this key: change it by its text, as spillway reset does.'
    const { limiter } = this.#shown()
    const key = plain(text, 40)
    if (action === 'reset') return (await limiter.reset(listed.key)) ? `Reset ${key}.` : `Nothing to reset: ${key}.`
    try {
      const { answer } = this.#view
      await (action === 'block' ? limiter.block(listed.key, answer as Duration) : limiter.unblock(listed.key))
      return action === 'block' ? `Blocked ${key} for ${plain(answer, 20)}.` : `Unblocked ${key}.`
    } catch (error) {
      if (error instanceof QuotaError) return plain(withoutLink(error.message), 200)
      throw error
    }
  }
}

const isQuestion = (mode: View['mode']): boolean => mode !== 'commands' && mode !== 'filter'

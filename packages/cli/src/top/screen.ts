import type { RateLimiter } from '@spillway/core'
import type { RulePolicy } from '@spillway/core/rules'
import { plain } from '../format.ts'
import { type Io, painter, widthOf } from '../io.ts'
import { pressed } from './keyboard.ts'
import { type Row, rowsOf, START, screenOf, type View } from './view.ts'

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
  #rows: readonly Row[] = []
  /** The row that a question is about. */
  #target: Row | undefined

  constructor(policies: readonly Shown[], { limit, limited = false }: { limit: number; limited?: boolean }, io: Io) {
    this.#policies = policies
    this.#limit = limit
    this.#io = io
    this.#view = { ...START, limited }
  }

  /** Reads the store, and draws. */
  async draw(): Promise<void> {
    const { policy, limiter } = this.#shown()
    const { stdout, env } = this.#io
    const list = await limiter.list({ limit: this.#limit, limited: this.#view.limited })
    this.#rows = rowsOf(list, policy.key, this.#view)
    this.#view = { ...this.#view, selected: Math.max(Math.min(this.#view.selected, this.#rows.length - 1), 0) }
    const size = { width: widthOf(stdout), height: (stdout as Terminal).rows ?? 24, paint: painter(stdout, env) }
    stdout.write(screenOf(plain(list.policy), list, this.#rows, this.#view, size))
  }

  /** Applies a key, or the passing of a second if it is empty, and draws. Returns false if the program ends. */
  async press(key: string): Promise<boolean> {
    // A redraw must not move another key under the question.
    if (key === '' && this.#view.mode === 'reset') return true
    if (key !== '') {
      const { view, action } = pressed(this.#view, key, this.#rows.length, this.#policies.length)
      if (action === 'quit') return false
      this.#view = view.mode === 'reset' ? this.#asking(view) : view
      if (action === 'reset') this.#view = { ...view, message: await this.#reset() }
    }
    await this.draw()
    return true
  }

  #shown(): Shown {
    return this.#policies[this.#view.policy] as Shown
  }

  #asking(view: View): View {
    this.#target = this.#rows[view.selected]
    return { ...view, message: `Reset ${plain(this.#target?.text ?? '', 40)}? [y/N]` }
  }

  /** Resets the key that was asked about, and returns what to say about it. */
  async #reset(): Promise<string> {
    if (this.#target === undefined) return ''
    const { listed, text } = this.#target
    if (listed.isDigest) return 'The store keeps only a digest of this key: reset it by its text, with spillway reset.'
    const found = await this.#shown().limiter.reset(listed.key)
    return found ? `Reset ${plain(text, 40)}.` : `Nothing to reset: ${plain(text, 40)}.`
  }
}

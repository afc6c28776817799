import type { Question, View } from './view.ts'

/** What a key of the keyboard asks for. */
export interface Pressed {
  readonly view: View
  readonly action?: 'quit' | Question
}

/** Applies a key of the keyboard to a view with so many rows and policies. */
export function pressed(view: View, key: string, rows: number, policies: number): Pressed {
  if (key === '\u0003') return { view, action: 'quit' }
  if (view.mode === 'filter') return { view: typed(view, key) }
  if (view.mode === 'block') return blocking(view, key)
  if (view.mode !== 'commands') return /^y$/i.test(key) ? agreed(view, view.mode) : declined(view)
  return commanded({ ...view, message: '' }, key, rows, policies)
}

const agreed = (view: View, action: Question): Pressed => ({ view: { ...view, mode: 'commands', message: '' }, action })
const declined = (view: View): Pressed => ({ view: { ...view, mode: 'commands', message: 'Nothing was changed.' } })

/** Applies a key to the answer how long a key is blocked. */
function blocking(view: View, key: string): Pressed {
  if (key === '\r' || key === '\n') return view.answer === '' ? declined(view) : agreed(view, 'block')
  return key === '\u001b' ? declined(view) : { view: { ...view, answer: edited(view.answer, key) } }
}

const NEXT = { used: 'limited', limited: 'blocked', blocked: 'used' } as const
const QUESTIONS: Readonly<Record<string, Question>> = { r: 'reset', b: 'block', u: 'unblock' }

function commanded(view: View, key: string, rows: number, policies: number): Pressed {
  const moved = (by: number): Pressed => ({
    view: { ...view, selected: Math.max(Math.min(view.selected + by, rows - 1), 0) },
  })
  switch (key) {
    case 'q':
      return { view, action: 'quit' }
    case '\t':
      return { view: { ...view, policy: (view.policy + 1) % policies, selected: 0 } }
    case 's':
      return { view: { ...view, order: view.order === 'use' ? 'wait' : 'use', selected: 0 } }
    case 'l':
      return { view: { ...view, only: NEXT[view.only], selected: 0 } }
    case '/':
      return { view: { ...view, mode: 'filter', filter: '', selected: 0 } }
    case 'r':
    case 'b':
    case 'u':
      return { view: rows === 0 ? view : { ...view, mode: QUESTIONS[key] as Question, answer: '' } }
    case '\u001b[A':
    case 'k':
      return moved(-1)
    case '\u001b[B':
    case 'j':
      return moved(1)
    default:
      return { view }
  }
}

function typed(view: View, key: string): View {
  if (key === '\r' || key === '\n') return { ...view, mode: 'commands' }
  if (key === '\u001b') return { ...view, mode: 'commands', filter: '' }
  return { ...view, filter: edited(view.filter, key) }
}

/** Text after a key was typed. */
function edited(text: string, key: string): string {
  if (key === '\u007f' || key === '\b') return text.slice(0, -1)
  // An escape sequence is a key that types nothing.
  return key.startsWith('\u001b') ? text : `${text}${key}`.slice(0, 100)
}

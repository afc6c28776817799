import type { View } from './view.ts'

/** What a key of the keyboard asks for. */
export interface Pressed {
  readonly view: View
  readonly action?: 'quit' | 'reset'
}

/** Applies a key of the keyboard to a view with so many rows and policies. */
export function pressed(view: View, key: string, rows: number, policies: number): Pressed {
  if (key === '\u0003') return { view, action: 'quit' }
  if (view.mode === 'filter') return { view: typed(view, key) }
  if (view.mode === 'reset') {
    const asked: View = { ...view, mode: 'commands', message: '' }
    return /^y$/i.test(key) ? { view: asked, action: 'reset' } : { view: { ...asked, message: 'Nothing was reset.' } }
  }
  return commanded({ ...view, message: '' }, key, rows, policies)
}

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
      return { view: { ...view, limited: !view.limited, selected: 0 } }
    case '/':
      return { view: { ...view, mode: 'filter', filter: '', selected: 0 } }
    case 'r':
      return { view: rows === 0 ? view : { ...view, mode: 'reset' } }
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
  if (key === '\u007f' || key === '\b') return { ...view, filter: view.filter.slice(0, -1) }
  // An escape sequence is a key that types nothing.
  return key.startsWith('\u001b') ? view : { ...view, filter: `${view.filter}${key}`.slice(0, 100) }
}

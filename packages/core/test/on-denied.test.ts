import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { type Denial, type DeniedOption, httpGuard } from '../src/http/index.ts'
import { perMinute } from '../src/index.ts'

// What onDenied may return: what users of other limiters write works, or is rejected with the right spelling.

const response = { own: true }

/** What is answered to the second request of one a minute; undefined if `onDenied` answers by itself. */
async function answered(onDenied: DeniedOption<object, object>, sendsResponses = false): Promise<Denial | undefined> {
  const store = modelStore(fakeClock())
  const guard = httpGuard<object, object>({ quota: perMinute(1), store, onDenied }, { ...plainReader, sendsResponses })
  await guard({})
  return (await guard({})).answer?.(response)
}

const standard = { status: 429, contentType: 'application/problem+json', headers: [] }
const TEXT = 'text/plain; charset=utf-8'

test.each<[string, unknown, Partial<Denial>]>([
  ['nothing', undefined, standard],
  ['no parts', {}, standard],
  ['parts that are undefined', { status: undefined, headers: undefined, body: undefined }, standard],
  ['text', 'Slow down.', { status: 429, contentType: TEXT, body: 'Slow down.' }],
  ['a status', { status: 503 }, { status: 503, contentType: 'application/problem+json', headers: [] }],
  ['a body of text', { body: 'no' }, { status: 429, contentType: TEXT, body: 'no' }],
  ['a body of its own type', { body: '<p>', contentType: 'text/html' }, { contentType: 'text/html', body: '<p>' }],
  [
    'its type as a header',
    { body: '<p>', headers: { 'Content-Type': 'text/html' } },
    { contentType: 'text/html', headers: [] },
  ],
  ['an object', { body: { error: 'no' } }, { contentType: 'application/json', body: '{"error":"no"}' }],
  ['a list', { body: ['a'] }, { contentType: 'application/json', body: '["a"]' }],
  ['an empty body', { body: '' }, { body: '' }],
  [
    'headers by name',
    { headers: { 'X-A': 'a', 'X-B': 2 } },
    {
      headers: [
        ['X-A', 'a'],
        ['X-B', '2'],
      ],
    },
  ],
  ['headers as pairs', { headers: [['X-A', 'a']] }, { headers: [['X-A', 'a']] }],
  ['headers as of fetch', { headers: new Headers({ 'X-A': 'a' }) }, { headers: [['x-a', 'a']] }],
])('%s', async (_, returned, expected) => {
  for (const onDenied of [() => returned, async () => returned]) {
    expect(await answered(onDenied as never)).toMatchObject(expected)
  }
})

test('the problem document has the status of the response', async () => {
  expect(JSON.parse((await answered(() => ({ status: 503 })))?.body ?? '')).toMatchObject({ status: 503 })
})

test.each<[string, unknown, string]>([
  [
    'what Express calls it',
    { statusCode: 503 },
    'what onDenied returns has no option "statusCode". Here that is status:',
  ],
  ['what express-rate-limit calls it', { message: 'no' }, 'Here that is body:'],
  ['JSON as it is', { detail2: 1 }, 'JSON is written as body:'],
  ['a status that is text', { status: '429' }, 'status of onDenied must be 200 to 599; got "429".'],
  ['a status that is none', { status: 42 }, 'got 42.'],
  ['bytes', { body: Uint8Array.of(1) }, 'body of onDenied must be text, or an object for JSON'],
  ['a number as body', { body: 5 }, 'got 5.'],
  ['headers that are none', { headers: 'X-A: a' }, 'headers of onDenied must be an object such as'],
  ['a header without text', { headers: { 'X-A': undefined } }, 'headers of onDenied'],
  [
    'a number',
    503,
    "the answer of onDenied must be such as { status: 429, body: 'Slow down.' }, text, or nothing; got 503.",
  ],
  ['false', false, 'got false.'],
  ['a list', [], 'got an array.'],
])('%s is rejected, and says what to write', async (_, returned, message) => {
  for (const onDenied of [() => returned, async () => returned]) {
    await expect(answered(onDenied as never)).rejects.toThrow(message)
  }
})

describe('it answers by itself', () => {
  test('if it returns the response, at once or later', async () => {
    expect(await answered((_, __, own) => own)).toBeUndefined()
    expect(await answered(async (_, __, own) => own)).toBeUndefined()
  })

  test('if it takes the response, and returns nothing', async () => {
    expect(await answered((_request, _decision, _own) => {})).toBeUndefined()
    expect(await answered((_request, _decision) => {})).toMatchObject(standard)
    expect(await answered((_request, _decision, _own) => ({}))).toMatchObject(standard)
  })

  test('if it returns a Response', async () => {
    const own = new Response('no', { status: 503 })
    expect(await answered(() => own, true)).toMatchObject({ status: 503, response: own })
    await expect(answered(() => own)).rejects.toThrow('answer with the third argument')
  })
})

test('what it throws fails the request, at once or later', async () => {
  await expect(
    answered(() => {
      throw new Error('no page')
    }),
  ).rejects.toThrow('no page')
  await expect(
    answered(async () => {
      throw new Error('no page')
    }),
  ).rejects.toThrow('no page')
})

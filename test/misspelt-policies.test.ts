import { rateLimit as forElysia } from '@spillway/elysia'
import { rateLimit as forExpress } from '@spillway/express'
import { rateLimit as forFastify } from '@spillway/fastify'
import { rateLimit as forFetch } from '@spillway/fetch'
import { rateLimit as forH3 } from '@spillway/h3'
import { rateLimit as forH31 } from '@spillway/h3/v1'
import { rateLimit as forHono } from '@spillway/hono'
import { rateLimit as forKoa } from '@spillway/koa'
import { perDay, perSecond } from '@spillway/memory'
import { rateLimit as forNode } from '@spillway/node'
import { expect, test } from 'vitest'

// Reproduces a bug: `quotta` in a second policy was reported at its name, which is correct: "Type '"b"' is not assignable to
// type '"a"'", because the compiler infers no name of a policy without a quota.
// The compiler checks these: an error in another line fails the type check, and so does none in the line that expects one.

const [first, quota] = [{ name: 'a', quota: perSecond(1) } as const, perDay(1)]

const misspelt: Record<string, () => unknown> = {
  Elysia: () =>
    forElysia({
      policies: [
        first,
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
      ],
    }),
  Express: () =>
    forExpress({
      policies: [
        first,
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
      ],
    }),
  Fastify: () =>
    forFastify({
      policies: [
        first,
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
      ],
    }),
  fetch: () =>
    forFetch({
      policies: [
        first,
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
      ],
    }),
  h3: () =>
    forH3({
      policies: [
        first,
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
      ],
    }),
  'h3 1': () =>
    forH31({
      policies: [
        first,
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
      ],
    }),
  Hono: () =>
    forHono({
      policies: [
        first,
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
      ],
    }),
  Koa: () =>
    forKoa({
      policies: [
        first,
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
      ],
    }),
  Node: () =>
    forNode({
      policies: [
        first,
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
      ],
    }),
  'one policy': () =>
    forHono({
      name: 'a',
      // @ts-expect-error: there is no such option
      quotta: quota,
    }),
  'the first of two': () =>
    forKoa({
      policies: [
        {
          name: 'a',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
        { name: 'b', quota },
      ],
    }),
  'of three, one with a function': () =>
    forHono({
      policies: [
        { name: 'a', quota, key: (c) => c.req.path },
        {
          name: 'b',
          // @ts-expect-error: there is no such option
          quotta: quota,
        },
        { name: 'c', quota },
      ],
    }),
}

test.each(Object.entries(misspelt))('a misspelt quota of a policy is reported where it is: %s', (_, build) => {
  expect(build).toThrow('no option "quotta". Did you mean "quota"?')
})

import { type DynamicModule, Module } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { NodeRequest } from '@spillway/core/http'
import type { ShedOptions } from './http.ts'
import { shed } from './node.ts'
import type { Shedder } from './shedder.ts'

export type { ShedOptions }

/** The injection token of the shedder: `@Inject(SHEDDER) overload: Shedder`. */
export const SHEDDER: unique symbol = Symbol('SHEDDER')

/** Drops requests while too many are in flight, before bodies are parsed and guards are called, on Express and Fastify. */
// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class
export class ShedModule {
  /**
   * The module with its options. `priority` and `fairBy` get the request of Express, or in Fastify that of Node. Throws a `QuotaError`
   * if an option is invalid.
   */
  static forRoot<R extends NodeRequest = NodeRequest>(options: ShedOptions<R> = {}): DynamicModule {
    const middleware = shed(options)
    const useFactory = ({ httpAdapter }: HttpAdapterHost): Shedder => {
      // Now, and not as middleware of a module: Nest applies that after the parsers of bodies.
      httpAdapter?.use(middleware)
      return middleware.shedder
    }
    const shedder = { provide: SHEDDER, useFactory, inject: [HttpAdapterHost] }
    return { module: ShedModule, global: true, providers: [shedder], exports: [SHEDDER] }
  }
}

Module({})(ShedModule)

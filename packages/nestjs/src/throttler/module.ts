import { type DynamicModule, Global, Module, type Provider } from '@nestjs/common'
import { checkObject } from '@spillway/core/internal'
import { importedOnce } from '../imported-once.ts'
import type { ThrottlerAsyncOptions, ThrottlerModuleOptions, ThrottlerOptionsFactory } from './options.ts'
import { storageOf, type ThrottlerStorage } from './storage.ts'
import { getOptionsToken, getStorageToken } from './tokens.ts'

/** Provides the options and the storage of `ThrottlerGuard`. */
// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class
export class ThrottlerModule {
  /** The module with its options. */
  static forRoot(options: ThrottlerModuleOptions = []): DynamicModule {
    return moduleWith([{ provide: getOptionsToken(), useValue: options }])
  }

  /** The module with options that other providers make. */
  static forRootAsync(options: ThrottlerAsyncOptions): DynamicModule {
    return { ...moduleWith(providersOf(options)), imports: options.imports ?? [] }
  }
}

Module({})(ThrottlerModule)
Global()(ThrottlerModule)

function providersOf({ useFactory, useExisting, useClass, inject = [] }: ThrottlerAsyncOptions): readonly Provider[] {
  const provide = getOptionsToken()
  if (useFactory) return [{ provide, useFactory, inject }]
  const factory = useExisting ?? useClass
  if (factory === undefined)
    throw new TypeError('ThrottlerModule.forRootAsync needs useFactory, useClass or useExisting.')
  const build = (made: ThrottlerOptionsFactory) => made.createThrottlerOptions()
  const own = useExisting ? [] : [{ provide: factory, useClass: factory }]
  return [{ provide, useFactory: build, inject: [factory] }, ...own]
}

function moduleWith(options: readonly Provider[]): DynamicModule {
  const storage = {
    provide: getStorageToken(),
    useFactory: (known: ThrottlerModuleOptions): ThrottlerStorage => {
      if (Array.isArray(known)) return storageOf(undefined)
      checkObject('ThrottlerModule', known)
      return storageOf(known.storage)
    },
    inject: [getOptionsToken()],
  }
  const exported = [...options, storage]
  const providers = [...exported, ...importedOnce(ThrottlerModule, getOptionsToken())]
  return { module: ThrottlerModule, providers, exports: exported }
}

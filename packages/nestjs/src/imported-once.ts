import type { OnModuleInit, Provider, Type } from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { QuotaError } from '@spillway/core'

let made = 0

/**
 * A provider of a dynamic module that lets no app start with two of them: each would limit, or one would have no effect.
 * `own` is what each of them provides. The value differs because Nest 10 takes modules of the same text for one.
 */
export const importedOnce = (module: Type, own: unknown): readonly Provider[] => {
  const name = `${module.name} imported once`
  return [
    { provide: `${name}: value`, useValue: ++made },
    {
      provide: name,
      useFactory: (modules: ModulesContainer): OnModuleInit => ({
        onModuleInit() {
          const all = [...modules.values()].filter(
            (each) => each.metatype === module && each.providers.has(own as Type),
          )
          if (all.length > 1) throw importedTwice(module.name)
        },
      }),
      inject: [ModulesContainer],
    },
  ]
}

const importedTwice = (name: string): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${name} is imported with options more than once. It applies to the whole app: import it once, in the root module, with all limits.`,
  )

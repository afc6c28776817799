import { ThrottlerStorage } from './storage.ts'

const OPTIONS = 'THROTTLER:MODULE_OPTIONS'

/** The injection token of the options. */
export const getOptionsToken = (): string => OPTIONS

/** The injection token of the storage. */
export const getStorageToken = (): symbol => ThrottlerStorage

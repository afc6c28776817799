export {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  SkipThrottle,
  Throttle,
  type ThrottlerMethodOrControllerOptions,
} from './decorators.ts'
export { ThrottlerException, throttlerMessage } from './exception.ts'
export { ThrottlerGuard } from './guard.ts'
export { DEFAULT_IPV6_SUBNET_PREFIX, normalizeIp } from './ip.ts'
export { ThrottlerModule } from './module.ts'
export type {
  Resolvable,
  ThrottlerAsyncOptions,
  ThrottlerGenerateKeyFunction,
  ThrottlerGetTrackerFunction,
  ThrottlerLimitDetail,
  ThrottlerModuleOptions,
  ThrottlerOptions,
  ThrottlerOptionsFactory,
  ThrottlerRequest,
} from './options.ts'
export { ThrottlerStorage, type ThrottlerStorageRecord, ThrottlerStorageService } from './storage.ts'
export { getOptionsToken, getStorageToken } from './tokens.ts'
export { days, hours, minutes, seconds, weeks } from './utilities.ts'

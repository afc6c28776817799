import { LONGEST, MOST_SCALE } from '@spillway/core/internal'
import { bucketLua } from './bucket.ts'
import { definitionsLua } from './take.ts'

/**
 * The function that users call directly. It checks its arguments, builds the same step as core does for a token bucket's
 * `consume`, and computes the decision like core's `decide`, in whole milliseconds, rounded up.
 */
const consumeLua = /* lua */ `
local usage = '. Write: FCALL spillway_consume 1 "spillway:1{user:42}" limit per [burst] [cost], such as 100 1m.'

local function fail(what)
  error({ err = 'ERR spillway_consume ' .. what .. usage })
end

local function whole(name, text)
  local number = string.match(text, '^%d+$') and tonumber(text)
  if number and number >= 1 and number <= ${LONGEST} then return number end
  fail(name .. ' must be a whole number from 1 to ${LONGEST}; got "' .. text .. '"')
end

local micros = { [''] = 1e3, ms = 1e3, s = 1e6, m = 60e6, h = 3600e6, d = 86400e6 }

local function duration(text)
  local number, unit = string.match(text, '^(%d+%.?%d*)(%l*)$')
  local span = number and micros[unit] and floor(tonumber(number) * micros[unit] + 0.5)
  if span and span >= 1 and span <= ${LONGEST} then return span end
  fail('per must be milliseconds, or a number with ms, s, m, h or d such as 10s; got "' .. text .. '"')
end

-- The store names its keys prefix:version{key}policy. Key and policy are short plain text, or a hash.
local function checkName(name)
  local key, policy = string.match(name, '^[!-z|~{}]*:1{([ -z|~]+)}([ -z|~]*)$')
  if not key then fail('key must be named as the store names it, prefix:1{key}policy; got "' .. name .. '"') end
  if #key > 64 or #policy > 64 then fail('key and policy of over 64 characters stand in a name as their hash') end
  if policy == 'default' then fail('policy "default" is left out of the name') end
end

local function commonDivisor(a, b)
  while b > 0 do a, b = b, fmod(a, b) end
  return a
end

-- Returns the number in parts of a microsecond, like the kernel.
local function exact(parts, scale)
  local tick = ceil(parts / scale)
  return tick, tick * scale - parts
end

local function consume(keys, args)
  if #keys ~= 1 then fail('takes one key; got ' .. #keys) end
  if #args < 2 or #args > 4 then fail('takes limit, per, burst and cost, of which the last two may be left out') end
  checkName(keys[1])
  local limit, per = whole('limit', args[1]), duration(args[2])
  local burst, cost = args[3] and whole('burst', args[3]) or limit, args[4] and whole('cost', args[4]) or 1
  local divisor = commonDivisor(per, limit)
  local unit, scale = per / divisor, limit / divisor
  -- A cost above the capacity never fits. It is capped at one unit more than the capacity.
  local size, taken = burst * unit, min(cost, burst + 1) * unit
  if size > ${LONGEST} * scale then fail('burst would take over 95 years to fill; use a smaller one') end
  if size + unit > ${MOST_SCALE} then
    fail('burst must be at most ' .. format('%.0f', floor(${MOST_SCALE} / unit) - 1) .. ' at this rate, to be counted exactly')
  end
  local increment, incrementEarly = exact(taken, scale)
  local room, roomEarly = exact(size, scale)
  local step = { kernel = 'bucket', increment = increment, check = increment, tolerance = room, ceiling = room, maxWaitMicros = 0 }
  if scale > 1 then
    step.fraction = { scale = scale, increment = incrementEarly, check = incrementEarly, tolerance = roomEarly }
  end
  local reply = run(keys, nil, { step }, { 1, 1, 1 })
  local allowed, early = reply[2] > 0, scale > 1 and reply[5] or 0
  local ahead = reply[3] * scale - early
  local wait = ahead + taken - size
  if allowed then ahead = ahead + taken end
  return {
    allowed and 1 or 0,
    max(floor((size - ahead) / unit), 0),
    allowed and 0 or cost > burst and -1 or ceil(ceil(wait / scale) / 1000),
    ceil(ceil(ahead / scale) / 1000),
  }
end

return consume
`

// A library cannot use `math` and other globals while it is loaded. The first call builds the function.
const registerLua = /* lua */ `
local consume
redis.register_function('spillway_consume', function(keys, args)
  consume = consume or make()
  return consume(keys, args)
end)
`

/**
 * A function library for `FUNCTION LOAD REPLACE`, in Lua, for Redis 7 or later and Valkey. `spillway_consume` consumes
 * units of a token bucket. It uses the same keys as `redisStore`, so that its callers share quotas with the limiters.
 *
 * @example
 * import { functionLua } from '@spillway/redis'
 * await redis.call('FUNCTION', 'LOAD', 'REPLACE', functionLua)
 */
export const functionLua: string = `#!lua name=spillway
local function make()${definitionsLua([bucketLua])}${consumeLua}end
${registerLua}`

/**
 * Takes from plain buckets: each call takes one step of a continuously refilling bucket. It is the bucket kernel for states
 * of one number and for those with a part of a microsecond, which begin with an `e`. A key with any other state goes through `run`, whose
 * definitions are executed only then: they cost more than a take.
 *
 * A step is three numbers, or six if a unit does not take whole microseconds: increment, how far ahead of now the bucket may
 * be full for a call to fit, ceiling; scale, and the earlies of the first two. `ARGV` is one step, if each key has one call.
 * Otherwise it is the first step as six numbers, the time or an empty string, for each key the index of its step and its
 * number of calls, and the other steps as six numbers each.
 *
 * The reply is the time, then for each key `base - now`, or −1 − that and the number of allowed calls if not all of them
 * are; then the early of `base` if the step has a scale; or the reply of `run`.
 */
export const takeBucketsLua = (runLua: string): string => /* lua */ `
local ceil, byte, sub, call = math.ceil, string.byte, string.sub, redis.call
local now = ARGV[7] and tonumber(ARGV[7])
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local states = call('MGET', unpack(KEYS))
local reply, place, calls = { now }, 2, 1
local increment, ahead, ceiling = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0
local scale, incrementEarly, aheadEarly = 1, 0, 0
if ARGV[4] then scale, incrementEarly, aheadEarly = ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0 end

local function generalOf(key)
${runLua}
  local step = { kernel = 'bucket', increment = increment, check = -ahead, tolerance = 0, ceiling = ceiling, maxWaitMicros = 0 }
  if scale > 1 then step.fraction = { scale = scale, increment = incrementEarly, check = aheadEarly, tolerance = 0 } end
  local batches = {}
  for i = 1, calls do batches[3 * i - 2], batches[3 * i - 1], batches[3 * i] = 1, 1, 1 end
  return run({ key }, now, { step }, batches)
end

for i = 1, #KEYS do
  if ARGV[8] then
    local from = 6 * ARGV[2 * i + 6] - 5
    if from > 1 then from = from + 1 + 2 * #KEYS end
    increment, ahead, ceiling = ARGV[from] + 0, ARGV[from + 1] + 0, ARGV[from + 2] + 0
    scale, incrementEarly, aheadEarly = ARGV[from + 3] + 0, ARGV[from + 4] + 0, ARGV[from + 5] + 0
    calls = ARGV[2 * i + 7] + 0
  end
  local raw = states[i]
  local tat, early = now, 0
  if raw then
    if byte(raw) == 101 then
      tat = nil
      local sound, moment, parts, part, gross = pcall(cmsgpack.unpack, sub(raw, 2))
      if sound and type(moment) == 'number' and type(part) == 'number' and gross == nil then
        tat = moment
        if parts == scale then early = part end
      end
    else tat = tonumber(raw) end
  end
  if tat and tat % 1 == 0 and tat - now <= ceiling then
    if tat < 0 then tat = -tat end
    if tat <= now then tat, early = now, 0 end
    local next, nextEarly, taken = tat, early, 0
    while taken < calls and next - (nextEarly + aheadEarly >= scale and 1 or 0) <= now + ahead do
      next, nextEarly, taken = next + increment, nextEarly + incrementEarly, taken + 1
      if nextEarly >= scale then next, nextEarly = next - 1, nextEarly - scale end
    end
    if taken > 0 then
      local state = next - now > ceiling and -next or next
      if nextEarly > 0 then state = 'e' .. cmsgpack.pack(state, scale, nextEarly) end
      call('SET', KEYS[i], state, 'PX', ceil((next - now) / 1000) + 60000)
    end
    if taken == calls then reply[place] = tat - now
    else reply[place], reply[place + 1], place = now - tat - 1, taken, place + 1 end
    if scale > 1 then reply[place + 1], place = early, place + 1 end
  else
    reply[place] = generalOf(KEYS[i])
  end
  place = place + 1
end
return reply
`

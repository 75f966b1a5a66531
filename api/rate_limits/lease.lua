-- As write_side.lease in PostgreSQL does it. KEYS are the buckets; ARGV begins with window, few,
-- share, most, and goes on with limit, asked, window, spare and unused of each bucket.
-- Returns the time in microseconds, as text, and window, granted, free and spare of each bucket.
local seconds, few, share, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local now = redis.call('TIME')
local present = math.floor(tonumber(now[1]) / seconds) * seconds
local answer = {now[1] .. string.format('%06d', tonumber(now[2]))}

local function block(free, asked)
    if asked == 0 or free <= 0 then return 0 end
    if free < few then return math.min(free, asked) end
    return math.min(free, asked + math.min(math.floor(math.max(free - asked, 0) / share), most))
end

for i, key in ipairs(KEYS) do
    local at = 5 * i
    local limit, asked = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
    local window, lent, unused = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
    local held = redis.call('HMGET', key, 'started', 'leased', 'spare')
    local started, leased, spare = tonumber(held[1] or 0), tonumber(held[2] or 0), tonumber(held[3] or 0)
    if started < present then
        started, leased, spare = present, 0, 0
    elseif started == window then
        leased, spare = math.max(leased - unused, 0), math.max(spare - lent, 0)
    end
    local granted = block(limit - leased, asked)
    leased, spare = leased + granted, spare + math.max(granted - asked, 0)
    redis.call('HSET', key, 'started', string.format('%d', started), 'leased', string.format('%d', leased), 'spare', string.format('%d', spare))
    redis.call('EXPIRE', key, started - present + 2 * seconds)
    for _, n in ipairs({started, granted, math.max(limit - leased, 0), spare}) do
        answer[#answer + 1] = n
    end
end
return answer

-- wrk -s post.lua URL -- BODY_FILE [HEADER...]: posts the file with these headers, and prints a summary as one line of
-- JSON.

function init(args)
   local file = assert(io.open(args[1], "rb"))
   wrk.method = "POST"
   wrk.body = file:read("*a")
   wrk.headers["Content-Type"] = "application/json"
   file:close()
   for index = 2, #args do
      local name, value = assert(args[index]:match("^([^:]+): (.*)$"))
      wrk.headers[name] = value
   end
   -- Formatted once: a request costs the client no Lua.
   local posted = wrk.format()
   request = function() return posted end
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      '{"requests":%d,"micros":%d,"failed":%d,"bad_status":%d,"latency_p50_us":%d,"latency_p99_us":%d}\n',
      summary.requests, summary.duration,
      errors.connect + errors.read + errors.write + errors.timeout, errors.status,
      latency:percentile(50), latency:percentile(99)))
end

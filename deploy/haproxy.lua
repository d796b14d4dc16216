-- For haproxy.cfg: choose the node of a request. HAProxy gives nodes numbers in the order in which the name service lists them, which
-- differs between balancers; so the choice here depends on their addresses only.

local BACKEND = "nodes"

local function hash(text)
    local h = -3750763034362895579 -- FNV-1a
    for i = 1, #text do
        h = (h ~ text:byte(i)) * 1099511628211
    end
    return h
end

-- The finalizer of SplitMix64: the sums of two hashes become numbers without a pattern.
local function mix(h)
    h = (h ~ (h >> 30)) * -4658895280553007687
    h = (h ~ (h >> 27)) * -7723592293110705685
    return h ~ (h >> 31)
end

-- The nodes that are up: {server, address, hash}. Asking HAProxy for each request would take longer than the request.
local nodes, listed_at = {}, -1

local function list_nodes()
    local now = core.now()
    local tick = now.sec * 4 + now.usec // 250000
    if tick == listed_at then
        return nodes
    end
    local found = {}
    for name, server in pairs(core.backends[BACKEND].servers) do
        local address = (server:get_addr() or ""):match("^([%d.]+):")
        if address ~= nil and address ~= "0.0.0.0" and server:get_stats().status:match("^UP") then
            found[#found + 1] = {server = name, address = address, hash = hash(address)}
        end
    end
    nodes, listed_at = found, tick
    return nodes
end

-- The node with this address; nil if it is not up.
local function by_address(address)
    for _, node in ipairs(list_nodes()) do
        if node.address == address then
            return node
        end
    end
end

-- The node with the highest hash of key and address: one that comes or goes moves no other's keys.
local function by_key(key)
    local best, highest
    local h = hash(key)
    for _, node in ipairs(list_nodes()) do
        local weight = mix(h + node.hash)
        if best == nil or math.ult(highest, weight) then
            best, highest = node, weight
        end
    end
    return best
end

-- The last address of each name, for the time when the name service does not answer.
local addresses, count = {}, 0
local MOST_ADDRESSES = 1000 -- names come from clients

local function remember(name, address)
    if addresses[name] == nil then
        if count == MOST_ADDRESSES then
            addresses, count = {}, 0
        end
        count = count + 1
    end
    addresses[name] = address
end

core.register_fetches("node", function(txn)
    local name, key, node = txn:get_var("txn.name"), txn:get_var("txn.key"), nil
    if name ~= nil then
        local address = txn:get_var("txn.address") or addresses[name]
        node = address ~= nil and by_address(address) or nil
        if node ~= nil then
            remember(name, address)
        end
    elseif key ~= nil then
        node = by_key(key)
    end
    return node ~= nil and node.server or nil
end)

#include "workloads/priced/server_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "policies/vocabulary/text_parts.hpp"

namespace tandem::priced {

ServerRounds::ServerRounds(const Job& job, const platforms::Network& network,
                           const std::vector<WorkerTimes>& classes)
    : job_(job), plan_(job.exchange()), network_(network) {
  find_members(classes);
  const auto& algorithm = plan_.algorithm().make;
  const auto workers = static_cast<std::int64_t>(job.roster().first_workers().size());
  const std::int64_t quorum = algorithm.quorum == nullptr ? 0 : algorithm.quorum(plan_.sync_setting());
  awaited_ = static_cast<int>(quorum == 0 ? workers : std::min(quorum, workers));
  pushes_of_update_ = static_cast<int>(std::max<std::int64_t>(quorum, 1));
  hosts_ = shared_hosts();
}

/// Workers of one host share its links: a member has one of each host, and hosts with other workers are other
/// ones.
void ServerRounds::find_members(const std::vector<WorkerTimes>& classes) {
  const auto host_of = [this](int worker) -> std::string_view {
    return job_.roster().host_of(job_.roster().workers()[static_cast<std::size_t>(worker)]);
  };
  std::unordered_map<std::string_view, std::vector<std::size_t>> on_host;  // the classes of its workers
  for (std::size_t number = 0; number < classes.size(); ++number)
    if (!classes[number].is_late)
      for (const int worker : classes[number].workers) on_host[host_of(worker)].push_back(number);
  std::map<std::vector<std::size_t>, std::size_t> groups;
  for (const WorkerTimes& of : classes) {
    if (of.is_late) continue;
    std::map<std::tuple<std::size_t, std::size_t, int>, std::size_t> known_places;
    std::unordered_map<std::string_view, int> counted;
    for (const int worker : of.workers) {
      const int earlier = counted[host_of(worker)]++;
      const std::size_t group = groups.try_emplace(on_host[host_of(worker)], groups.size()).first->second;
      const auto [known, is_new] =
          known_places.try_emplace(std::tuple(place_of(worker), group, earlier), members_.size());
      if (is_new)
        members_.push_back({worker, &of, group, 1});
      else
        ++members_[known->second].count;
    }
  }
  std::ranges::sort(members_, {}, &Member::worker);
}

std::vector<ServerRounds::SharedHost> ServerRounds::shared_hosts() const {
  std::vector<SharedHost> hosts;
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    const Rank rank = job_.roster().servers()[shard];
    const platforms::Host& host = job_.devices().host_of(rank);
    auto found = std::ranges::find(hosts, host.name, &SharedHost::name);
    if (found == hosts.end()) {
      // Works that a host states take a core each. Other work is that of the device, if there is one.
      const ServerCost* const stated = job_.devices().server_cost(rank);
      const bool is_device = host.properties.contains("device") && stated == nullptr;
      hosts.push_back({.name = host.name,
                       .shards = {},
                       .cores = is_device ? 1 : std::max(1, host.cores),
                       .is_device = is_device,
                       .threads = stated == nullptr ? 1 : stated->parallel});
      found = std::prev(hosts.end());
    }
    found->shards.push_back(shard);
  }
  return hosts;
}

std::size_t ServerRounds::place_of(int worker) const {
  const Rank rank = job_.roster().workers()[static_cast<std::size_t>(worker)];
  return network_.like(job_.roster().host_of(rank));
}

int ServerRounds::members() const {
  int count = 0;
  for (const Member& member : members_) count += member.count;
  return count;
}

std::vector<Connection> ServerRounds::messages_of(int worker, bool pushes) const {
  const Roster& roster = job_.roster();
  const std::string& host = roster.host_of(roster.workers()[static_cast<std::size_t>(worker)]);
  std::vector<Connection> found;
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    const std::string& server = roster.host_of(roster.servers()[shard]);
    Connection& connection =
        found.emplace_back(pushes ? Connection{host, server, {}} : Connection{server, host, {}});
    // Messages that are ready at the same time arrive as one of their size.
    for (const ShardPiece& piece : plan_.shard_layout()[shard])
      if (connection.messages.empty() || (pushes && overlaps()))
        connection.messages.push_back({Seconds(0.0), piece.bytes()});
      else
        connection.messages.back().size += piece.bytes();
  }
  return found;
}

std::vector<Connection> ServerRounds::messages(bool pushes) const {
  std::vector<Connection> all;
  for (const Member& member : members_)
    for (Connection& connection : messages_of(member.worker, pushes)) {
      connection.count = member.count;
      connection.group = member.group;
      all.push_back(std::move(connection));
    }
  return all;
}

std::pair<Seconds, std::string> ServerRounds::busiest_of_both(double replies, bool common) const {
  std::vector<Connection> all = messages(true);
  for (Connection& reply : messages(false)) {
    for (auto& message : reply.messages)
      message.size = Bytes(std::llround(static_cast<double>(message.size.count()) * replies));
    all.push_back(std::move(reply));
  }
  return network_.busiest(all, common);
}

prices::CoreWork ServerRounds::work_of(Rank rank, Bytes size, int tensors, int pushes) const {
  const CostModel costs = job_.devices().cost_model(rank);
  const int pushes_of_update = pushes == 1 ? pushes_of_update_ : pushes;
  const bool from_slot = pushes_of_update == 1 && job_.devices().kind_of(rank) != DevicePlan::processor_kind;
  const auto kind = plan_.servers_hold_model() ? Work::Kind::update : Work::Kind::reduce;
  prices::CoreWork work;
  work.alone = costs.price({.kind = Work::Kind::reduce, .bytes = from_slot ? Bytes(0) : size * pushes}) +
               costs.price({.kind = kind, .bytes = size}) * (static_cast<double>(pushes) / pushes_of_update);
  const ServerCost* const server = job_.devices().server_cost(rank);
  if (server == nullptr) return work;
  work.threads = std::min(server->parallel, pushes);
  const int in_a_row = (pushes + work.threads - 1) / work.threads;
  for (const auto stated : {Work::Kind::push, Work::Kind::reply})
    work.alone += costs.price({.kind = stated, .bytes = size, .tensors = tensors}) * in_a_row;
  return work;
}

prices::CoreWork ServerRounds::update_of(std::size_t shard, int pushes) const {
  const ShardPieces& pieces = plan_.shard_layout()[shard];
  return work_of(job_.roster().servers()[shard], Bytes(shard_elements(pieces) * 4),
                 tensors_in(pieces, job_.model()), pushes);
}

Seconds ServerRounds::work_with(int servers, bool in_rounds) const {
  std::int64_t bytes = 0;
  int tensors = 0;
  for (const ShardPieces& pieces : plan_.shard_layout()) {
    bytes += shard_elements(pieces) * 4;
    tensors += tensors_in(pieces, job_.model());
  }
  const prices::CoreWork work = work_of(job_.roster().servers().front(), Bytes(bytes / servers),
                                        (tensors + servers - 1) / servers, in_rounds ? awaited_ : 1);
  if (in_rounds) return work.alone;
  return work.alone * (static_cast<double>(members()) / hosts_.front().threads);
}

std::vector<Seconds> ServerRounds::updated(const std::vector<Seconds>& complete, int pushes) const {
  std::vector<Seconds> ends(shards());
  for (const SharedHost& host : hosts_) {
    std::vector<prices::CoreWork> works;
    for (const std::size_t shard : host.shards) {
      works.push_back(update_of(shard, pushes));
      works.back().ready = complete[shard];
    }
    const auto of_host = prices::ends_on_cores(works, host.cores);
    for (std::size_t i = 0; i < of_host.size(); ++i) ends[host.shards[i]] = of_host[i];
  }
  return ends;
}

Seconds ServerRounds::slowest_update(int pushes) const {
  return std::ranges::max(updated(std::vector<Seconds>(shards(), Seconds(0.0)), pushes));
}

Seconds ServerRounds::demand_of(const SharedHost& host) const {
  Seconds all{0.0}, most{0.0};
  for (const std::size_t shard : host.shards) {
    const Seconds one = update_of(shard, 1).alone;
    const ServerCost* const server = job_.devices().server_cost(job_.roster().servers()[shard]);
    all += one;
    most = std::max(most, one / static_cast<double>(server == nullptr ? 1 : server->parallel));
  }
  return std::max(most, all / static_cast<double>(host.cores));
}

Seconds ServerRounds::update_demand() const {
  Seconds most{0.0};
  for (const SharedHost& host : hosts_) most = std::max(most, demand_of(host));
  return most;
}

const ServerRounds::SharedHost& ServerRounds::busiest_host() const {
  return *std::ranges::max_element(hosts_, {}, [this](const SharedHost& of) { return demand_of(of); });
}

std::string ServerRounds::busiest_servers() const {
  const SharedHost& host = busiest_host();
  if (host.shards.size() == 1 && host.threads == 1) return "";
  const auto threads = static_cast<std::size_t>(host.threads), cores = static_cast<std::size_t>(host.cores);
  const std::string with =
      threads == 1 ? "" : " with " + counted(threads, "thread") + (host.shards.size() == 1 ? "" : " each");
  return fmt::format(" ('{}': {}{}, {})", host.name, counted(host.shards.size(), "server"), with,
                     host.is_device ? "one device" : counted(cores, "core"));
}

std::string ServerRounds::unused_cores() const {
  const SharedHost& host = busiest_host();
  const int cores = job_.spec().platform.host(host.name).cores;
  const auto used = static_cast<int>(host.shards.size()) * host.threads;
  const std::string servers = host.shards.size() == 1 ? "the server" : counted(host.shards.size(), "server");
  if (host.is_device && cores > 1)
    return fmt::format("{} on '{}' {} as fast as its property device says, whatever its number of cores",
                       servers, host.name, host.shards.size() == 1 ? "is" : "are");
  if (used >= cores) return "";
  return fmt::format("{} on '{}' can use {} of its {} cores: one per thread (tandem:server_parallel)",
                     servers, host.name, used, cores);
}

std::vector<Connection> ServerRounds::push_from(const Member& member, Seconds start) const {
  std::vector<Connection> push = messages_of(member.worker, true);
  const auto ready = member.times->ready();
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    auto& own = push[shard].messages;
    for (std::size_t piece = 0; piece < own.size(); ++piece) {
      const auto bucket = static_cast<std::size_t>(plan_.shard_layout()[shard][piece].bucket);
      own[piece].ready = start + (overlaps() ? ready[bucket] : member.times->computing());
    }
  }
  return push;
}

/// All pushes of the members, who begin their rounds at these times.
std::vector<Connection> ServerRounds::pushes_from(const std::vector<Seconds>& starts) const {
  std::vector<Connection> pushes;
  for (std::size_t member = 0; member < members_.size(); ++member)
    for (Connection& connection : push_from(members_[member], starts[member])) {
      connection.count = members_[member].count;
      connection.group = members_[member].group;
      pushes.push_back(std::move(connection));
    }
  return pushes;
}

Seconds ServerRounds::push_alone(int worker) const {
  const Member& member = *std::ranges::lower_bound(members_, worker, {}, &Member::worker);
  Seconds arrived{0.0};
  for (const auto& messages : network_.arrivals(push_from(member, Seconds(0.0))))
    arrived = std::max(arrived, messages.back());
  return arrived - member.times->computing();
}

ServerRounds::Round ServerRounds::steady() const {
  constexpr int most_rounds = 8;
  constexpr double rounding_s = 1e-9;
  const auto members = members_.size();
  std::vector<Seconds> starts(members, Seconds(0.0));
  Round found;
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<Seconds> before = starts;
    const auto pushed = network_.arrivals(pushes_from(starts));
    std::vector<Seconds> complete(shards(), Seconds(0.0));
    std::size_t last = 0;
    for (std::size_t shard = 0; shard < shards(); ++shard) {
      std::vector<std::pair<Seconds, std::size_t>> arrivals;
      for (std::size_t member = 0; member < members; ++member)
        arrivals.emplace_back(pushed[member * shards() + shard].back(), member);
      std::ranges::sort(arrivals);
      auto awaited = arrivals.begin();
      for (int missing = awaited_ - members_[awaited->second].count; missing > 0;
           missing -= members_[awaited->second].count)
        ++awaited;
      if (awaited->first > std::ranges::max(complete)) last = awaited->second;
      complete[shard] = awaited->first;
    }
    std::vector<Connection> replies = messages(false);
    const auto updates = updated(complete, awaited_);
    for (std::size_t i = 0; i < replies.size(); ++i)
      for (auto& message : replies[i].messages)
        message.ready = std::max(updates[i % shards()], pushed[i].back());
    const auto replied = network_.arrivals(replies);
    const WorkerTimes& of_last = *members_[last].times;
    const Seconds all_pushed = std::ranges::max(complete), computed = starts[last] + of_last.computing();
    const std::size_t slowest =
        static_cast<std::size_t>(std::ranges::max_element(complete) - complete.begin());
    found = {.computing = of_last.computing(),
             .push = all_pushed - computed,
             .update = updates[slowest] - complete[slowest],
             .reply = {},
             .own_update = of_last.update_after,
             .last = of_last.host};
    Seconds got{0.0};
    for (std::size_t member = 0; member < members; ++member) {
      Seconds arrived{0.0};
      for (std::size_t shard = 0; shard < shards(); ++shard)
        arrived = std::max(arrived, replied[member * shards() + shard].back());
      starts[member] = arrived + members_[member].times->update_after;
      if (member == last) got = arrived;
    }
    found.reply = got - all_pushed - found.update;
    // Steady: every worker begins as much later.
    const Seconds later = starts.front() - before.front();
    bool is_steady = true;
    for (std::size_t member = 0; member < members; ++member)
      is_steady = is_steady && std::abs((starts[member] - before[member] - later).count()) < rounding_s;
    if (is_steady) break;
  }
  return found;
}

}  // namespace tandem::priced

// Parity of operations: compares sequences by stream, because a rank may serve its peers in any order.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "policies/cache/policy.hpp"
#include "validation/compare/gates.hpp"
#include "workloads/experiment/resolved_experiment.hpp"

namespace tandem::validation {
namespace {

/// One stream of similar operations of a rank; simulation and measurement perform them in the same order.
struct Stream {
  Rank rank;
  std::string kind;
  int peer;
  std::string channel;
  std::string work;
  int bucket;
  auto operator<=>(const Stream&) const = default;
};
using Streams = std::map<Stream, std::vector<const OperationRecord*>>;

std::int64_t count_of(const RunInfo& info, const char* role) {
  return std::count(info.roles.begin(), info.roles.end(), role);
}

/// Where a worker requests batches in advance, it may want a sample of the end of an epoch again while that
/// sample is in flight: then the sample is not read again. If it has arrived, it is read again unless a tier
/// has kept it. LRU and FIFO evict what came first, so they keep the newest batches if these fit into the
/// tier.
bool may_join_reads(const Results& results) {
  const Experiment::Data& data = results.info.experiment.data;
  if (data.prefetch == 0) return false;
  const std::string order = ResolvedExperiment(results.info.experiment).cache.name();
  if (order != "lru" && order != "fifo") return true;
  Bytes largest{0};
  for (const auto& record : results.journal.operations)
    if (record.channel == "batches") largest = std::max(largest, Bytes(record.bytes));
  return data.cache_capacity < largest * (std::int64_t{data.prefetch} + 1);
}

/// Whether reads depend on the order of messages. The reads of a cache node with several workers, and its
/// requests to stores, depend on the order of the workers' requests. A store with several cache nodes reads
/// in the order of theirs. A tier on a disk writes samples that have arrived. Deliveries of another node
/// depend on the samples that have arrived there; so do the answers of a directory, and everything that
/// follows from them. Where a policy plans with the whole run, a batch may find that a sample of the plan is
/// in flight, or request it before the plan does.
bool are_reads_timed(const Results& results) {
  const RunInfo& info = results.info;
  const bool joins = count_of(info, "cache-node") > 0 && may_join_reads(results);
  return joins || caches_serve_several(info) || info.experiment.data.peers == Peers::directory ||
         ResolvedExperiment(info.experiment).cache->needs.plan;
}

/// `is_timed`: as are_reads_timed says.
bool depends_on_arrival(const RunInfo& info, bool is_timed, const OperationRecord& record) {
  const auto rank = static_cast<std::size_t>(record.rank);
  if (rank >= info.roles.size()) return false;
  const bool asks_peers = info.experiment.data.peers != Peers::none && count_of(info, "cache-node") > 1;
  if (record.channel == "peer-data" || record.channel == "directory" || record.channel == "holders" ||
      info.roles[rank] == "directory")
    return true;
  if (record.channel == "peer-reads") return is_timed;
  if (record.channel == "reads" || record.channel == "read-data") return is_timed || asks_peers;
  if (record.kind != "read" && record.kind != "write") return false;
  if (info.roles[rank] == "store") return is_timed || count_of(info, "cache-node") > 1;
  return info.roles[rank] == "cache-node" &&
         (is_timed || asks_peers || info.experiment.data.disk_capacity > Bytes(0));
}

/// Only the simulation has ranks that read a mounted storage for cache nodes, and send the samples.
bool is_of_mounted_store(const RunInfo& info, const OperationRecord& record) {
  const auto rank = static_cast<std::size_t>(record.rank);
  if (info.experiment.data.store != StoreAccess::mounted || rank >= info.roles.size()) return false;
  if (record.channel == "reads" || record.channel == "read-data") return true;
  return record.kind == "read" && (info.roles[rank] == "store" || info.roles[rank] == "cache-node");
}

Streams streams_of(const Results& results) {
  Streams streams;
  const bool is_timed = are_reads_timed(results);
  for (const auto& record : results.journal.operations) {
    if (depends_on_arrival(results.info, is_timed, record) || is_copy(record) ||
        is_of_mounted_store(results.info, record))
      continue;
    streams[{record.rank, record.kind, record.peer, record.channel, record.work, record.bucket}].push_back(
        &record);
  }
  // Several rings of one bucket run at the same time, so their sums are in no order.
  if (results.info.experiment.sync.rings != 1)
    for (auto& [stream, records] : streams)
      if (stream.work == "reduce") std::ranges::stable_sort(records, {}, &OperationRecord::bytes);
  return streams;
}

std::string describe(const RunInfo& info, const Stream& stream) {
  std::string text = describe_rank(info, stream.rank) + ", " + stream.kind;
  if (stream.kind == "send") text += fmt::format(" to rank {}", stream.peer);
  if (stream.kind == "receive") text += fmt::format(" from rank {}", stream.peer);
  if (stream.kind == "read" || stream.kind == "write") text += fmt::format(" on disk {}", stream.peer);
  if (!stream.channel.empty()) text += fmt::format(", channel {}", stream.channel);
  if (!stream.work.empty()) text += (stream.kind == "all-reduce" ? " among ranks " : " ") + stream.work;
  if (stream.bucket >= 0) text += fmt::format(", bucket {}", stream.bucket);
  return text;
}

std::string describe(const OperationRecord& record) {
  std::string text = fmt::format("{} bytes", record.bytes);
  if (record.samples > 0) text += fmt::format(" of {} samples", record.samples);
  return text;
}

std::string context_of(const std::vector<const OperationRecord*>& records, std::size_t at) {
  std::string text;
  for (std::size_t i = at < 2 ? 0 : at - 2; i < std::min(at + 2, records.size()); ++i)
    text += fmt::format("\n      {} #{}: {} at {:.6g} s", i == at ? ">" : " ", i, describe(*records[i]),
                        records[i]->start.count());
  if (at >= records.size()) text += fmt::format("\n      > #{}: no more operations", at);
  return text;
}

struct Divergence {
  double time;  ///< in the simulation, or of the measured operation if the simulation lacks it
  std::string text;
};

std::optional<Divergence> compare_stream(const Results& simulated, const Results& measured,
                                         const Stream& stream,
                                         const std::vector<const OperationRecord*>& ours,
                                         const std::vector<const OperationRecord*>& theirs) {
  const auto same = [](const auto* a, const auto* b) {
    return a->bytes == b->bytes && a->samples == b->samples;
  };
  const auto [mine, other] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end(), same);
  if (mine == ours.end() && other == theirs.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(mine - ours.begin());
  const auto found = [](const auto& records, std::size_t i) {
    return i < records.size() ? describe(*records[i]) : "no such operation";
  };
  return Divergence{
      (at < ours.size() ? ours[at] : theirs[at])->start.count(),
      fmt::format("{}, operation #{} of {} simulated and {} measured: simulated {}, measured {} ({})\n"
                  "    simulated:{}\n    measured:{}",
                  describe(simulated.info, stream), at, ours.size(), theirs.size(), found(ours, at),
                  found(theirs, at), measured.path, context_of(ours, at), context_of(theirs, at))};
}

/// The divergence that happened first, and how many streams diverge.
std::pair<std::optional<Divergence>, int> first_divergence(const Results& simulated,
                                                           const Results& measured) {
  const Streams ours = streams_of(simulated);
  const Streams theirs = streams_of(measured);
  Streams all = ours;
  all.insert(theirs.begin(), theirs.end());
  static const std::vector<const OperationRecord*> none;
  const auto find = [](const Streams& streams, const Stream& stream) -> const auto& {
    const auto found = streams.find(stream);
    return found == streams.end() ? none : found->second;
  };
  std::optional<Divergence> first;
  int diverging = 0;
  for (const auto& [stream, records] : all) {
    auto divergence = compare_stream(simulated, measured, stream, find(ours, stream), find(theirs, stream));
    if (!divergence) continue;
    ++diverging;
    if (!first || divergence->time < first->time) first = std::move(divergence);
  }
  return {std::move(first), diverging};
}

}  // namespace

Gate operations_parity(const Results& simulated, const std::vector<Results>& measured) {
  const auto recorded = [](const Results& results) { return !results.journal.operations.empty(); };
  if (!recorded(simulated) || !std::all_of(measured.begin(), measured.end(), recorded))
    return {Gate::State::not_checked, 0,
            "operations were not recorded in both simulation and measurement (--operations)"};
  if (const auto reason = timing_reason(simulated.info); !reason.empty())
    return {Gate::State::not_checked, 0, reason + ", so the number of operations may differ"};
  for (const auto& run : measured)
    if (!run.info.generations.empty())
      return {Gate::State::not_checked, 0,
              fmt::format("{} started again after a rank had died, so operations in flight then are recorded "
                          "twice or never",
                          run.path)};
  const auto checked = static_cast<std::int64_t>(simulated.journal.operations.size());
  for (const auto& run : measured) {
    const auto [divergence, streams] = first_divergence(simulated, run);
    if (divergence)
      return {Gate::State::failed, checked,
              fmt::format("{} stream{} of operations differ{}; the first: {}", streams,
                          streams == 1 ? "" : "s", streams == 1 ? "s" : "", divergence->text)};
  }
  return {Gate::State::passed, checked,
          fmt::format("{} operations are the same in simulation and measurement ({} measured run{}){}",
                      checked, measured.size(), measured.size() == 1 ? "" : "s",
                      simulated.info.experiment.data.store == StoreAccess::mounted
                          ? "; not compared: reads of the mounted storage, for which simulations have ranks "
                            "of their own"
                          : "")};
}

}  // namespace tandem::validation

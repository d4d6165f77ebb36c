// The exchange phases of workers, split by the record of operations into communicating and waiting.
#include <algorithm>
#include <utility>
#include <vector>

#include "workloads/records/messages.hpp"
#include "workloads/records/metrics.hpp"

namespace tandem {
namespace {

struct Interval {
  Seconds begin;
  Seconds end;
};
using Intervals = std::vector<Interval>;

/// In order, those that touch made one.
Intervals united(Intervals all) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  Intervals apart;
  for (const Interval& next : all) {
    if (!apart.empty() && next.begin <= apart.back().end)
      apart.back().end = std::max(apart.back().end, next.end);
    else
      apart.push_back(next);
  }
  return apart;
}

/// Time that lies in both. Pre: each in order and apart.
Seconds common(const Intervals& a, const Intervals& b) {
  Seconds sum{};
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Seconds begin = std::max(a[i].begin, b[j].begin), end = std::min(a[i].end, b[j].end);
    if (end > begin) sum += end - begin;
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return sum;
}

/// What one worker recorded, in order of time.
struct OfWorker {
  std::vector<const StepRecord*> steps;
  std::vector<const OperationRecord*> computations;
  Intervals messages;
};

/// Where the exchange of each step lies. It ends its step, but for updates that take over what came.
Intervals exchanges_of(const OfWorker& worker) {
  Intervals exchanges;
  auto next = worker.computations.begin();
  for (const StepRecord* step : worker.steps) {
    const Seconds length = step->phases[static_cast<std::size_t>(Phase::exchange)];
    Seconds end = step->start + step->duration();
    while (next != worker.computations.end() && (*next)->start < end) ++next;
    if (length <= Seconds(0)) continue;
    // Half of the exchange is more than clocks and sums of phases are off by.
    for (auto last = next; last != worker.computations.begin(); --last) {
      const OperationRecord& before = **(last - 1);
      if (before.work != name_of(Work::Kind::update) || before.end < end - length * 0.5) break;
      end = before.start;
    }
    exchanges.push_back({end - length, end});
  }
  return exchanges;
}

std::map<Rank, OfWorker> workers_of(const RunInfo& info, const Journal& journal) {
  std::map<Rank, OfWorker> workers;
  for (const auto& step : journal.steps) workers[step.rank].steps.push_back(&step);
  for (const auto& operation : journal.operations)
    if (const auto own = workers.find(operation.rank); own != workers.end() && operation.kind == "compute")
      own->second.computations.push_back(&operation);
  const auto trains = [&](Rank rank) {
    const std::string role = role_of(info, rank);
    return role == "worker" || role == "server";
  };
  for (const auto& [send, receive] : messages_of(journal)) {
    // A question to the coordinator carries nothing, and its end may be noticed long after.
    if (send->bytes == 0 || !trains(send->rank) || !trains(receive->rank)) continue;
    if (const auto from = workers.find(send->rank); from != workers.end())
      from->second.messages.push_back({send->start, std::min(send->end, receive->end)});
    if (const auto to = workers.find(receive->rank); to != workers.end())
      to->second.messages.push_back({send->start, receive->end});
  }
  for (const auto& [own, met] : all_reduces_of(journal))
    if (const auto worker = workers.find(own->rank); worker != workers.end())
      worker->second.messages.push_back({std::min(met, own->end), own->end});
  return workers;
}

}  // namespace

std::map<Rank, ExchangeShares> exchange_shares(const RunInfo& info, const Journal& journal,
                                               Seconds makespan) {
  std::map<Rank, ExchangeShares> ranks;
  const auto& sync = info.experiment.sync;
  if (journal.operations.empty() || sync.over == sync::Route::peers || sync.overlaps_forward()) return ranks;
  for (auto& [rank, worker] : workers_of(info, journal)) {
    const Intervals exchanges = exchanges_of(worker);
    for (const auto* computation : worker.computations)
      worker.messages.push_back({computation->start, computation->end});
    const Seconds communicating = common(exchanges, united(std::move(worker.messages)));
    Seconds all{};
    for (const Interval& exchange : exchanges) all += exchange.end - exchange.begin;
    ranks[rank] = {communicating / makespan, (all - communicating) / makespan};
  }
  return ranks;
}

}  // namespace tandem

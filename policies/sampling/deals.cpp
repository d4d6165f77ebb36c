#include "policies/sampling/deals.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::sampling {
namespace {

int last_epoch(const std::vector<Rest>& rests) { return std::ranges::max(rests, {}, &Rest::epoch).epoch; }

std::vector<Rest> keep_own(std::vector<Rest> rests, std::size_t workers) {
  rests.resize(workers, Rest{.epoch = last_epoch(rests)});
  return rests;
}

/// By the split, as if these were all samples.
std::vector<Rest> deal_again(const Split& split, Setting setting, const std::vector<Rest>& rests,
                             std::size_t workers) {
  std::vector<SampleId> ids;
  for (const Rest& rest : rests) ids.insert(ids.end(), rest.ids.begin(), rest.ids.end());
  std::ranges::sort(ids);
  std::vector<Rest> dealt(workers, Rest{.epoch = last_epoch(rests)});
  if (ids.empty()) return dealt;
  std::vector<std::uint16_t> labels;
  if (!setting.labels.empty())
    for (const SampleId id : ids) labels.push_back(setting.labels[static_cast<std::size_t>(id)]);
  setting.samples = std::ssize(ids);
  setting.labels = labels;
  setting.workers = static_cast<int>(workers);
  const Shards places = split.deal(setting);
  for (std::size_t worker = 0; worker < workers; ++worker)
    for (const SampleId place : places[worker])
      dealt[worker].ids.push_back(ids[static_cast<std::size_t>(place)]);
  return dealt;
}

std::vector<Rest> rests_of(const Split& split, Setting setting, const Deal& deal,
                           const std::vector<Rest>& first) {
  setting.workers = deal.workers;
  const Shards shards = split.deal(setting);
  std::vector<Rest> rests;
  for (std::size_t worker = 0; worker < shards.size(); ++worker) {
    const int index = static_cast<int>(worker);
    ShardVisits visits = first.empty() ? ShardVisits(shards[worker], setting.seed, index)
                                       : ShardVisits(shards[worker], setting.seed, index, first[worker]);
    visits.skip(deal.taken.at(worker));
    rests.push_back(visits.rest());
  }
  return rests;
}

int workers_after(std::span<const Deal> deals, std::size_t deal, int last) {
  return deal + 1 < deals.size() ? deals[deal + 1].workers : last;
}

/// How far each worker of a deal is in its part of the lists.
struct ListPosition {
  std::int64_t epoch;
  std::int64_t taken;  ///< of its part
};

std::vector<ListPosition> positions_of(const Deal& deal, const RestList& first, std::int64_t whole) {
  const std::int64_t part = whole / deal.workers;
  const std::int64_t first_part = first.list ? std::ssize(first.list->ids) / deal.workers : part;
  std::vector<ListPosition> positions;
  for (const std::int64_t all : deal.taken) {
    ListPosition position{first.epoch, all};
    // An epoch begins when its first sample is taken.
    if (all > first_part) {
      const std::int64_t later = all - first_part;
      position.epoch += 1 + (later - 1) / part;
      position.taken = later - (later - 1) / part * part;
    }
    positions.push_back(position);
  }
  return positions;
}

}  // namespace

std::vector<Rest> rests_after(const Split& split, Setting setting, std::span<const Deal> deals, int workers) {
  TANDEM_CHECK(!deals.empty(), "workers", workers);
  std::vector<Rest> first;
  for (std::size_t deal = 0; deal < deals.size(); ++deal) {
    std::vector<Rest> rests = rests_of(split, setting, deals[deal], first);
    const auto next = static_cast<std::size_t>(workers_after(deals, deal, workers));
    first = split.replicates ? keep_own(std::move(rests), next) : deal_again(split, setting, rests, next);
  }
  return first;
}

RestList rest_list_after(const std::function<std::shared_ptr<const EpochList>(std::int64_t epoch)>& list_of,
                         std::span<const Deal> deals, int workers) {
  RestList first;
  const auto list_in = [&](std::int64_t epoch) {
    return first.list && epoch == first.epoch ? first.list : list_of(epoch);
  };
  const std::int64_t whole = std::ssize(list_of(0)->ids);
  for (std::size_t number = 0; number < deals.size(); ++number) {
    const Deal& deal = deals[number];
    const auto positions = positions_of(deal, first, whole);
    const auto [slowest, fastest] = std::ranges::minmax_element(positions, {}, &ListPosition::epoch);
    auto rest = std::make_shared<EpochList>();
    for (std::int64_t epoch = slowest->epoch; epoch <= fastest->epoch; ++epoch) {
      const auto list = list_in(epoch);
      const std::int64_t length = std::ssize(list->ids), part = length / deal.workers;
      // The ids that are left out at the end of a list stay so when all workers have done their parts of it.
      const std::int64_t end = epoch == fastest->epoch ? length : part * deal.workers;
      for (std::int64_t place = 0; place < end; ++place) {
        const ListPosition& at = positions[static_cast<std::size_t>(place % deal.workers)];
        const std::int64_t taken = at.epoch > epoch ? part : at.epoch < epoch ? 0 : at.taken;
        if (place / deal.workers < taken) continue;
        const auto index = static_cast<std::size_t>(place);
        rest->ids.push_back(list->ids[index]);
        if (!list->weights.empty()) rest->weights.push_back(list->weights[index]);
        if (!list->low.empty()) rest->low.push_back(list->low[index]);
      }
    }
    const std::int64_t left = std::ssize(rest->ids);
    first = {.epoch = fastest->epoch,
             .list = std::move(rest),
             .share = std::min(1.0, static_cast<double>(left) / static_cast<double>(whole))};
    if (left < workers_after(deals, number, workers)) first = {.epoch = fastest->epoch + 1};
  }
  return first;
}

}  // namespace tandem::sampling

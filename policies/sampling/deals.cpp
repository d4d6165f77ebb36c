#include "policies/sampling/deals.hpp"

#include <algorithm>
#include <limits>
#include <map>
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

/// Of the workers of a deal, when it is made. `first`: what they visit before their shards.
std::vector<ShardVisits> visits_of(const Split& split, Setting setting, int workers,
                                   const std::vector<Rest>& first) {
  setting.workers = workers;
  const Shards shards = split.deal(setting);
  std::vector<ShardVisits> visits;
  for (std::size_t worker = 0; worker < shards.size(); ++worker) {
    const int index = static_cast<int>(worker);
    if (first.empty())
      visits.emplace_back(shards[worker], setting.seed, index);
    else
      visits.emplace_back(shards[worker], setting.seed, index, first[worker]);
  }
  return visits;
}

Rest returned_by(ShardVisits visits, const Returned& returned) {
  visits.skip(returned.first);
  Rest rest;
  visits.next(static_cast<int>(returned.count), rest.ids);
  rest.epoch = visits.epoch();
  return rest;
}

int workers_after(std::span<const Deal> deals, std::size_t deal, int last) {
  return deal + 1 < deals.size() ? deals[deal + 1].workers : last;
}

/// How far each worker of a deal is in its part of the lists.
struct ListPosition {
  std::int64_t epoch;
  std::int64_t taken;  ///< of its part
};

/// Of a worker that has taken so many since the deal.
ListPosition position_after(std::int64_t taken, int workers, const RestList& first, std::int64_t whole) {
  const std::int64_t part = whole / workers;
  const std::int64_t first_part = first.list ? std::ssize(first.list->ids) / workers : part;
  // An epoch begins when its first sample is taken.
  if (taken <= first_part) return {first.epoch, taken};
  const std::int64_t later = taken - first_part;
  return {first.epoch + 1 + (later - 1) / part, later - (later - 1) / part * part};
}

void append(const EpochList& from, std::size_t index, EpochList& to) {
  to.ids.push_back(from.ids[index]);
  if (!from.weights.empty()) to.weights.push_back(from.weights[index]);
  if (!from.low.empty()) to.low.push_back(from.low[index]);
}

}  // namespace

std::vector<Rest> rests_after(const Split& split, Setting setting, std::span<const Deal> deals, int workers) {
  TANDEM_CHECK(!deals.empty(), "workers", workers);
  std::vector<std::vector<Rest>> first(1);  // by deal
  for (std::size_t number = 0; number < deals.size(); ++number) {
    const Deal& deal = deals[number];
    std::vector<Rest> rests;
    auto visits = visits_of(split, setting, deal.workers, first[number]);
    for (std::size_t worker = 0; worker < visits.size(); ++worker) {
      visits[worker].skip(deal.taken.at(worker));
      rests.push_back(visits[worker].rest());
    }
    const int last = last_epoch(rests);
    const auto next = static_cast<std::size_t>(workers_after(deals, number, workers));
    if (split.replicates) {
      first.push_back(keep_own(std::move(rests), next));
      continue;
    }
    for (std::size_t worker = 0; worker < visits.size(); ++worker)
      for (int epoch = rests[worker].epoch + 1; epoch <= last; ++epoch)
        rests.push_back({visits[worker].shard(), epoch});
    std::map<std::size_t, std::vector<ShardVisits>> of_earlier;  // by deal
    for (const Returned& returned : deal.returned) {
      const auto earlier = static_cast<std::size_t>(returned.deal);
      auto& all = of_earlier[earlier];
      if (all.empty()) all = visits_of(split, setting, deals[earlier].workers, first.at(earlier));
      rests.push_back(returned_by(all.at(static_cast<std::size_t>(returned.place)), returned));
    }
    first.push_back(deal_again(split, setting, rests, next));
  }
  return first.back();
}

RestList rest_list_after(const std::function<std::shared_ptr<const EpochList>(std::int64_t epoch)>& list_of,
                         std::span<const Deal> deals, int workers) {
  RestList first;
  std::vector<RestList> firsts;  // by deal
  const auto list_in = [&](const RestList& of, std::int64_t epoch) {
    return of.list && epoch == of.epoch ? of.list : list_of(epoch);
  };
  const std::int64_t whole = std::ssize(list_of(0)->ids);
  for (std::size_t number = 0; number < deals.size(); ++number) {
    const Deal& deal = deals[number];
    firsts.push_back(first);
    std::vector<ListPosition> positions;
    for (const std::int64_t taken : deal.taken)
      positions.push_back(position_after(taken, deal.workers, first, whole));
    const auto [slowest, fastest] = std::ranges::minmax_element(positions, {}, &ListPosition::epoch);
    auto rest = std::make_shared<EpochList>();
    for (std::int64_t epoch = slowest->epoch; epoch <= fastest->epoch; ++epoch) {
      const auto list = list_in(first, epoch);
      const std::int64_t length = std::ssize(list->ids), part = length / deal.workers;
      // The ids that are left out at the end of a list stay so when all workers have done their parts of it.
      const std::int64_t end = epoch == fastest->epoch ? length : part * deal.workers;
      for (std::int64_t place = 0; place < end; ++place) {
        const ListPosition& at = positions[static_cast<std::size_t>(place % deal.workers)];
        const std::int64_t taken = at.epoch > epoch ? part : at.epoch < epoch ? 0 : at.taken;
        if (place / deal.workers < taken) continue;
        append(*list, static_cast<std::size_t>(place), *rest);
      }
    }
    for (const Returned& returned : deal.returned)
      for (std::int64_t sample = 1; sample <= returned.count; ++sample) {
        const auto earlier = static_cast<std::size_t>(returned.deal);
        const RestList& begun = firsts.at(earlier);
        const int workers_then = deals[earlier].workers;
        const ListPosition at = position_after(returned.first + sample, workers_then, begun, whole);
        append(*list_in(begun, at.epoch),
               static_cast<std::size_t>(returned.place + (at.taken - 1) * workers_then), *rest);
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

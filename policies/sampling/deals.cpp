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

/// The visits of the workers of a deal, when it is made. `first`: their visits before their shards.
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

/// How far each worker of a deal is in its part of the lists.
struct ListPosition {
  std::int64_t epoch;
  std::int64_t taken;  ///< of its part
};

/// The position of a worker that has taken `taken` samples since the deal.
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

/// The rest after one deal, dealt to the workers of the next one.
template <class FirstOf>
std::vector<Rest> rests_after_deal(const Split& split, const Setting& setting, const DealHistory& deals,
                                   std::size_t number, int workers, const FirstOf& first_of) {
  const Deal& deal = deals[number];
  std::vector<Rest> rests;
  auto visits = visits_of(split, setting, deal.workers, *first_of(number));
  for (std::size_t worker = 0; worker < visits.size(); ++worker) {
    visits[worker].skip(deal.taken.at(worker));
    rests.push_back(visits[worker].rest());
  }
  const int last = last_epoch(rests);
  if (split.replicates) return keep_own(std::move(rests), static_cast<std::size_t>(workers));
  for (std::size_t worker = 0; worker < visits.size(); ++worker)
    for (int epoch = rests[worker].epoch + 1; epoch <= last; ++epoch)
      rests.push_back({visits[worker].shard(), epoch});
  std::map<std::size_t, std::vector<ShardVisits>> of_earlier;  // by deal
  for (const Returned& returned : deal.returned) {
    const auto earlier = static_cast<std::size_t>(returned.deal);
    auto& all = of_earlier[earlier];
    if (all.empty()) all = visits_of(split, setting, deals[earlier].workers, *first_of(earlier));
    rests.push_back(returned_by(all.at(static_cast<std::size_t>(returned.place)), returned));
  }
  return deal_again(split, setting, rests, static_cast<std::size_t>(workers));
}

/// The same where workers take parts of common lists.
template <class FirstOf>
RestList rest_list_after_deal(const ListOfEpoch& list_of, const DealHistory& deals, std::size_t number,
                              int workers, const FirstOf& first_of) {
  const Deal& deal = deals[number];
  const std::shared_ptr<const RestList> first = first_of(number);
  const auto list_in = [&](const RestList& of, std::int64_t epoch) {
    return of.list && epoch == of.epoch ? of.list : list_of(epoch);
  };
  const std::int64_t whole = std::ssize(list_of(0)->ids);
  std::vector<ListPosition> positions;
  for (const std::int64_t taken : deal.taken)
    positions.push_back(position_after(taken, deal.workers, *first, whole));
  const auto [slowest, fastest] = std::ranges::minmax_element(positions, {}, &ListPosition::epoch);
  auto rest = std::make_shared<EpochList>();
  for (std::int64_t epoch = slowest->epoch; epoch <= fastest->epoch; ++epoch) {
    const auto list = list_in(*first, epoch);
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
      const std::shared_ptr<const RestList> begun = first_of(earlier);
      const int workers_then = deals[earlier].workers;
      const ListPosition at = position_after(returned.first + sample, workers_then, *begun, whole);
      append(*list_in(*begun, at.epoch),
             static_cast<std::size_t>(returned.place + (at.taken - 1) * workers_then), *rest);
    }
  const std::int64_t left = std::ssize(rest->ids);
  if (left < workers) return {.epoch = fastest->epoch + 1};
  return {.epoch = fastest->epoch,
          .list = std::move(rest),
          .share = std::min(1.0, static_cast<double>(left) / static_cast<double>(whole))};
}

}  // namespace

std::shared_ptr<const std::vector<Rest>> RestsOfDeals::after(const Split& split, const Setting& setting,
                                                             const DealHistory& deals, int workers) {
  return firsts_.of(deals, deals.size(), workers,
                    [&](std::size_t last, int workers_then, const auto& first_of) {
                      return rests_after_deal(split, setting, deals, last, workers_then, first_of);
                    });
}

RestList ListsOfDeals::after(const ListOfEpoch& list_of, const DealHistory& deals, int workers) {
  return *firsts_.of(deals, deals.size(), workers,
                     [&](std::size_t last, int workers_then, const auto& first_of) {
                       return rest_list_after_deal(list_of, deals, last, workers_then, first_of);
                     });
}

std::vector<Rest> rests_after(const Split& split, Setting setting, std::span<const Deal> deals, int workers) {
  TANDEM_CHECK(!deals.empty(), "workers", workers);
  return *RestsOfDeals().after(split, setting, DealHistory(deals), workers);
}

RestList rest_list_after(const ListOfEpoch& list_of, std::span<const Deal> deals, int workers) {
  return ListsOfDeals().after(list_of, DealHistory(deals), workers);
}

}  // namespace tandem::sampling

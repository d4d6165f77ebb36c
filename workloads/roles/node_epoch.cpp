#include "workloads/roles/node_epoch.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/roles/cache_clients.hpp"

namespace tandem {

NodeEpoch::NodeEpoch(const Roster& roster, const DataPlan& data, std::size_t node, int job)
    : data_(data), node_(node), job_(job), keeps_lists_(data.cache_factory().needs.ahead) {
  const std::size_t nodes = roster.ranks_of(Roster::Role::cache_node).size();
  for (std::size_t each = 0; each < nodes; ++each) workers_of_.push_back(clients_of(roster, each));
}

void NodeEpoch::begin(std::int64_t epoch, std::span<const float> losses,
                      const std::function<void(const cache::EpochBegins&)>& tell) {
  epoch_ = epoch;
  const auto list = data_.epoch_list(epoch, losses, data_.first_list());
  const auto workers = static_cast<std::size_t>(data_.workers());
  low_.assign(list->low.empty() ? 0 : samples(), 0);
  std::vector<std::size_t> node_of(workers);
  for (std::size_t node = 0; node < workers_of_.size(); ++node)
    for (const std::size_t worker : workers_of_[node]) node_of[worker] = node;
  std::vector<std::vector<SampleId>> of_node(workers_of_.size());
  // Nobody wants the last ones of a list that cannot be divided.
  const std::size_t dealt = list->ids.size() / workers * workers;
  for (std::size_t i = 0; i < dealt; ++i) {
    of_node[node_of[i % workers]].push_back(list->ids[i]);
    if (!low_.empty()) low_[index(list->ids[i])] = list->low[i];
  }
  if (keeps_lists_) keep_lists(*list);
  tell({.job = job_, .epoch = epoch, .lists = of_node, .low = low_});
}

void NodeEpoch::keep_lists(const sampling::EpochList& list) {
  const auto& own = workers_of_[node_];
  lists_.resize(own.size());
  places_.assign(samples(), {});
  asked_.assign(own.size(), 0);
  sampling::EpochList part;
  for (std::size_t client = 0; client < own.size(); ++client) {
    sampling::deal(list, static_cast<int>(own[client]), data_.workers(), part);
    lists_[client] = part.ids;
    for (std::size_t i = 0; i < part.ids.size(); ++i)
      places_[index(part.ids[i])] = {static_cast<std::uint32_t>(client), static_cast<std::uint32_t>(i)};
  }
}

cache::Want NodeEpoch::want(std::size_t client, std::int64_t position, std::span<const SampleId> ids) {
  cache::Want want;
  want.job = job_;
  want.epoch = epoch_;
  client_ = client;
  begin_ = static_cast<std::size_t>(position);
  if (keeps_lists_) {
    const std::span<const SampleId> list = lists_[client];
    const std::size_t end = begin_ + ids.size();
    TANDEM_CHECK(end <= list.size(), position, ids.size(), list.size());
    ids = list.subspan(begin_, ids.size());
    want.ahead = list.subspan(end);
    asked_[client] = end;
  }
  now_.clear();
  low_now_.clear();
  for (const SampleId id : ids) {
    now_.push_back({id, data_.manifest().size_of(id)});
    if (!low_.empty()) low_now_.push_back(low_[index(id)]);
  }
  want.now = now_;
  want.low = low_now_;
  return want;
}

void NodeEpoch::note_served(std::span<const cache::Serve> serves) {
  if (!keeps_lists_) return;
  for (const cache::Serve& serve : serves)
    if (serve.swapped) swap(serve.asked, serve.given);
}

/// The one that was delivered early leaves its place to the one that was wanted.
void NodeEpoch::swap(SampleId asked, SampleId given) {
  Place& there = places_[index(given)];
  Place& here = places_[index(asked)];
  // Otherwise it changed places with another one of the same batch.
  const std::size_t open = there.client == client_ ? begin_ : asked_[there.client];
  if (there.position < open || at(there) != given) return;
  std::swap(at(here), at(there));
  std::swap(here, there);
}

}  // namespace tandem

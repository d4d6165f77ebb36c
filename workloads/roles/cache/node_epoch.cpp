#include "workloads/roles/cache/node_epoch.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/placement/cache_clients.hpp"

namespace tandem {

NodeEpoch::NodeEpoch(const Roster& roster, const DataPlan& data, std::size_t node, int job)
    : data_(data),
      node_(node),
      job_(job),
      workers_of_(clients_of_nodes(roster)),
      keeps_lists_(data.cache_factory().needs.ahead) {}

void NodeEpoch::begin(std::int64_t epoch, std::span<const float> losses,
                      const std::function<void(const cache::EpochBegins&)>& on_begin,
                      std::span<const std::vector<SampleId>> given,
                      std::shared_ptr<const sampling::EpochList> list, std::int64_t position) {
  epoch_ = epoch;
  if (list == nullptr) list = data_.lists().of(epoch, losses, data_.deals().first_list());
  const auto workers = static_cast<std::size_t>(data_.workers());
  std::vector<std::uint8_t> low(list->low.empty() ? 0 : samples(), 0);
  std::vector<std::size_t> node_of(workers);
  for (std::size_t node = 0; node < workers_of_.size(); ++node)
    for (const std::size_t worker : workers_of_[node]) node_of[worker] = node;
  std::vector<std::vector<SampleId>> of_node(workers_of_.size());
  // Nobody wants the last ones of a list that cannot be divided.
  const std::size_t dealt = list->ids.size() / workers * workers;
  for (std::size_t i = 0; i < dealt; ++i) {
    of_node[node_of[i % workers]].push_back(list->ids[i]);
    if (!low.empty()) low[index(list->ids[i])] = list->low[i];
  }
  if (keeps_lists_) keep_lists(*list);
  if (keeps_lists_ && !given.empty()) of_node[node_] = put_given(given);
  low_.assign(low.begin(), low.end());
  const auto own =
      std::ranges::count_if(workers_of_[node_], [&](std::size_t worker) { return worker < workers; });
  const std::int64_t taken = keeps_lists_ ? 0 : position * own;
  on_begin({.job = job_,
            .epoch = epoch,
            .lists = of_node,
            .low = low,
            .taken = std::min(taken, std::ssize(of_node[node_]))});
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

/// Returns the rest. Samples that came early leave their places to the samples that had made room for them.
std::vector<SampleId> NodeEpoch::put_given(std::span<const std::vector<SampleId>> given) {
  TANDEM_CHECK(given.size() == lists_.size(), given.size(), lists_.size());
  std::vector<bool> has_come(samples());
  for (const auto& ids : given)
    for (const SampleId id : ids) has_come[index(id)] = true;
  std::vector<SampleId> put_off, left;
  for (std::size_t client = 0; client < given.size(); ++client)
    for (std::size_t position = 0; position < given[client].size(); ++position)
      if (const SampleId id = lists_[client].at(position); !has_come[index(id)]) put_off.push_back(id);
  auto next = put_off.begin();
  for (std::size_t client = 0; client < given.size(); ++client) {
    auto& list = lists_[client];
    asked_[client] = given[client].size();
    std::ranges::copy(given[client], list.begin());
    for (std::size_t position = 0; position < list.size(); ++position) {
      SampleId& id = list[position];
      if (position >= asked_[client]) {
        if (has_come[index(id)]) {
          TANDEM_CHECK(next != put_off.end(), "sample", id, "came twice, or for another node's worker");
          id = *next++;
        }
        left.push_back(id);
      }
      places_[index(id)] = {static_cast<std::uint32_t>(client), static_cast<std::uint32_t>(position)};
    }
  }
  return left;
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
    if (!low_.empty()) low_now_.push_back(low_[index(id)] ? 1 : 0);
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

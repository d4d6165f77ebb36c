#include "workloads/roles/cache/directory_view.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/cache_rows.hpp"

namespace tandem {

using protocol::Location;

// ---- Lookups ----

std::vector<SampleId> DirectoryView::unknown(std::size_t client, std::span<const SampleId> ids) const {
  constexpr int most = 2;
  const auto known = answered_.find(client);
  const bool has_asked = known != answered_.end();
  std::vector<SampleId> all;
  if (has_asked && known->second.lookups == most) return all;
  for (const SampleId id : ids)
    if (engine_.tier_of(id) == cache::outside && !(own_.epoch && own_.epoch->is_low(id)) &&
        !(has_asked && known->second.locations.contains(id)) && std::ranges::find(all, id) == all.end())
      all.push_back(id);
  return all;
}

CacheActions DirectoryView::look_up(std::size_t client, std::vector<SampleId> ids, std::int64_t epoch,
                                    Seconds now) {
  TANDEM_CHECK(!ids.empty(), "client", client);
  ++answered_[client].lookups;
  for (const SampleId id : ids) ++awaited_[id];
  count(lookup_row, epoch, ids);
  count_message(lookup_messages_row, epoch, ids.size() * sizeof(SampleId));
  lookups_.push_back({.client = client, .ids = ids, .epoch = epoch, .begun = now});
  CacheActions actions;
  actions.emplace_back(AskDirectory{std::move(ids)});
  return actions;
}

std::optional<std::size_t> DirectoryView::answer(const protocol::Located& located,
                                                 std::span<const std::int32_t> locations, Seconds now) {
  const Lookup lookup = std::move(lookups_.front());
  lookups_.pop_front();
  TANDEM_CHECK(located.samples == std::ssize(lookup.ids), "asked for", lookup.ids.size(), "answered for",
               located.samples);
  if (!lookup.client) {
    for (std::size_t i = 0; i < lookup.ids.size(); ++i) {
      release(lookup.ids[i]);
      if (Location::of(locations[i]).may_keep) unused_.push_back(lookup.ids[i]);
    }
    return std::nullopt;
  }
  Answered& answered = answered_[*lookup.client];
  // A repair by an old moment changes too little, one by a new moment too much.
  if (answered.ids.empty()) answered.moment = located.moment;
  for (std::size_t i = 0; i < lookup.ids.size(); ++i) {
    const SampleId id = lookup.ids[i];
    if (lookup.outdated.contains(id)) {
      release(id);
      continue;
    }
    answered.ids.push_back(id);
    answered.locations[id] = Location::of(locations[i]);
  }
  const Seconds waited = now - lookup.begun;
  CacheRecord& row = own_.record(lookup.epoch, lookup_row);
  row.blocked += waited;
  row.reading += waited;
  count_message(lookup_messages_row, lookup.epoch, lookup.ids.size() * sizeof(std::int32_t));
  return lookup.client;
}

DirectoryView::Known DirectoryView::take(std::size_t client) {
  const auto found = answered_.find(client);
  if (found == answered_.end()) return {};
  Known known{.moment = found->second.moment, .has_waited = true};
  for (const SampleId id : found->second.ids) {
    const auto location = found->second.locations.find(id);
    if (location == found->second.locations.end()) continue;
    release(id);
    known.holders.push_back({id, location->second.holder});
    if (location->second.may_keep) known.holders.push_back({id, node_});
    // It may have been asked for twice, when the first answer did not hold any more.
    found->second.locations.erase(location);
  }
  answered_.erase(found);
  return known;
}

bool DirectoryView::forget(std::size_t client) {
  const auto found = answered_.find(client);
  if (found == answered_.end()) return false;
  for (Lookup& lookup : lookups_)
    if (lookup.client == client) lookup.client.reset();
  const Answered answered = std::move(found->second);
  answered_.erase(found);
  for (const auto& [id, location] : answered.locations) {
    release(id);
    if (location.may_keep) unused_.push_back(id);
  }
  return true;
}

void DirectoryView::release(SampleId id) {
  const auto found = awaited_.find(id);
  TANDEM_CHECK(found != awaited_.end(), "sample", id);
  if (--found->second == 0) awaited_.erase(found);
}

/// The directory will learn of it only after its answers to earlier lookups: because of such an answer, the
/// node may not keep the sample.
void DirectoryView::withdraw(SampleId id) {
  for (Lookup& lookup : lookups_)
    if (std::ranges::find(lookup.ids, id) != lookup.ids.end()) lookup.outdated.insert(id);
  for (auto& [client, answered] : answered_)
    if (answered.locations.erase(id) > 0) release(id);
}

// ---- Reports to the directory ----

void DirectoryView::note(std::span<const SampleId> published, std::span<const SampleId> withdrawn,
                         std::int64_t epoch, CacheActions& actions) {
  const auto add = [&](SampleId id, bool is_kept) {
    const auto [change, is_new] = is_kept_now_.insert({id, is_kept});
    if (is_new) changed_.push_back(id);
    change->second = is_kept;
  };
  for (const SampleId id : published) add(id, true);
  for (const SampleId id : withdrawn) {
    add(id, false);
    if (!awaited_.empty()) withdraw(id);
  }
  if (!published.empty() || !withdrawn.empty()) epoch_ = epoch;
  if (changed_.size() >= protocol::Update::most) send_updates(actions);
}

CacheActions DirectoryView::withdraw_unused(std::int64_t epoch) {
  CacheActions actions;
  std::vector<SampleId> withdrawn;
  for (const SampleId id : std::exchange(unused_, {}))
    if (engine_.tier_of(id) == cache::outside && !awaits(id)) withdrawn.push_back(id);
  note({}, withdrawn, epoch, actions);
  return actions;
}

CacheActions DirectoryView::send_updates() {
  CacheActions actions;
  send_updates(actions);
  return actions;
}

void DirectoryView::send_updates(CacheActions& actions) {
  std::ranges::stable_partition(changed_, [this](SampleId id) { return is_kept_now_.at(id); });
  for (std::size_t begin = 0; begin < changed_.size(); begin += protocol::Update::most) {
    const auto all = std::span(changed_).subspan(begin);
    const auto part = all.first(std::min(all.size(), protocol::Update::most));
    const auto published = static_cast<std::size_t>(
        std::ranges::count_if(part, [this](SampleId id) { return is_kept_now_.at(id); }));
    count(published_row, epoch_, part.first(published));
    count(withdrawn_row, epoch_, part.subspan(published));
    count_message(update_messages_row, epoch_, part.size() * sizeof(SampleId));
    actions.emplace_back(
        NotifyDirectory{{part.begin(), part.end()},
                        protocol::Update{.published = static_cast<std::int32_t>(published),
                                         .withdrawn = static_cast<std::int32_t>(part.size() - published)}});
  }
  changed_.clear();
  is_kept_now_.clear();
}

void DirectoryView::repair(std::span<const SampleId> ids, int holder, std::int64_t moment, std::int64_t epoch,
                           CacheActions& actions) {
  for (; !ids.empty(); ids = ids.subspan(std::min(ids.size(), protocol::Update::most))) {
    const auto part = ids.first(std::min(ids.size(), protocol::Update::most));
    count(repaired_row, epoch, part);
    count_message(update_messages_row, epoch, part.size() * sizeof(SampleId));
    actions.emplace_back(NotifyDirectory{
        {part.begin(), part.end()},
        protocol::Repair{
            .samples = static_cast<std::int32_t>(part.size()), .holder = holder, .moment = moment}});
  }
}

void DirectoryView::count(std::string_view row, std::int64_t epoch, std::span<const SampleId> ids) {
  if (ids.empty()) return;
  SampleCount own;
  for (const SampleId id : ids) own.add(manifest_.size_of(id));
  own_.add(epoch, row, own);
}

void DirectoryView::count_message(std::string_view row, std::int64_t epoch, std::size_t bytes) {
  own_.add(epoch, row, {.samples = 1, .bytes = static_cast<std::int64_t>(bytes)});
}

}  // namespace tandem

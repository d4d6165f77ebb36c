#include "workloads/roles/cache/directory_client.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/cache_rows.hpp"

namespace tandem {

using protocol::Location;

bool DirectoryClient::knows(std::size_t client, SampleId id) const {
  const auto known = answered_.find(client);
  return known != answered_.end() && known->second.locations.contains(id);
}

void DirectoryClient::look_up(std::size_t client, std::vector<SampleId> ids, std::int64_t epoch) {
  TANDEM_CHECK(!ids.empty(), "client", client);
  send_updates();
  for (const SampleId id : ids) ++awaited_[id];
  count(lookup_row, epoch, ids);
  Lookup& lookup = lookups_.emplace_back(Lookup{.client = client, .ids = std::move(ids), .epoch = epoch});
  lookup.begun = context_.now();
  lookup.locations.resize(lookup.ids.size());
  const auto samples = std::ssize(lookup.ids);
  lookup.answer =
      protocol::receive<"holders">(context_, directory_,
                                   {Bytes(samples * static_cast<std::int64_t>(sizeof(std::int32_t))),
                                    reinterpret_cast<std::byte*>(lookup.locations.data())});
  lookup.sent =
      protocol::send<"directory">(context_, directory_, protocol::LookUp{static_cast<std::int32_t>(samples)},
                                  {Bytes(samples * static_cast<std::int64_t>(sizeof(SampleId))),
                                   reinterpret_cast<std::byte*>(lookup.ids.data())});
  count_message(lookup_messages_row, epoch, lookup.ids.size() * sizeof(SampleId));
}

void DirectoryClient::put_next(Pending& wait) {
  if (wait.empty() && !lookups_.empty()) wait = std::move(lookups_.front().answer);
}

std::optional<std::size_t> DirectoryClient::hear(const Note& note) {
  Lookup lookup = std::move(lookups_.front());
  lookups_.pop_front();
  context_.wait(lookup.sent);
  const auto located = protocol::unpack<protocol::Located>(note);
  TANDEM_CHECK(located.samples == std::ssize(lookup.ids), "asked for", lookup.ids.size(), "answered for",
               located.samples);
  if (!lookup.client) {
    for (std::size_t i = 0; i < lookup.ids.size(); ++i) {
      release(lookup.ids[i]);
      if (Location::of(lookup.locations[i]).may_keep) unused_.push_back(lookup.ids[i]);
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
    answered.locations[id] = Location::of(lookup.locations[i]);
  }
  const Seconds waited = context_.now() - lookup.begun;
  CacheRecord& row = record(lookup.epoch, lookup_row);
  row.blocked += waited;
  row.reading += waited;
  count_message(lookup_messages_row, lookup.epoch, lookup.ids.size() * sizeof(std::int32_t));
  return lookup.client;
}

DirectoryClient::Known DirectoryClient::take(std::size_t client) {
  Known known;
  const auto found = answered_.find(client);
  if (found == answered_.end()) return known;
  known.moment = found->second.moment;
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

void DirectoryClient::forget(std::size_t client) {
  for (Lookup& lookup : lookups_)
    if (lookup.client == client) lookup.client.reset();
  const auto found = answered_.find(client);
  if (found == answered_.end()) return;
  const Answered answered = std::move(found->second);
  answered_.erase(found);
  for (const auto& [id, location] : answered.locations) {
    release(id);
    if (location.may_keep) unused_.push_back(id);
  }
}

void DirectoryClient::release(SampleId id) {
  const auto found = awaited_.find(id);
  TANDEM_CHECK(found != awaited_.end(), "sample", id);
  if (--found->second == 0) awaited_.erase(found);
}

/// The directory will learn of it after it has answered what was asked before: the node may not keep the
/// sample because of such an answer.
void DirectoryClient::withdraw(SampleId id) {
  for (Lookup& lookup : lookups_)
    if (std::ranges::find(lookup.ids, id) != lookup.ids.end()) lookup.outdated.insert(id);
  for (auto& [client, answered] : answered_)
    if (answered.locations.erase(id) > 0) release(id);
}

void DirectoryClient::note(const cache::Decisions& decisions, std::int64_t epoch) {
  const auto add = [&](SampleId id, bool is_kept) {
    const auto [change, is_new] = is_kept_now_.insert({id, is_kept});
    if (is_new) changed_.push_back(id);
    change->second = is_kept;
  };
  for (const SampleId id : decisions.published) add(id, true);
  for (const SampleId id : decisions.withdrawn) {
    add(id, false);
    if (!awaited_.empty()) withdraw(id);
  }
  if (!decisions.published.empty() || !decisions.withdrawn.empty()) epoch_ = epoch;
  if (changed_.size() >= protocol::Update::most) send_updates();
}

void DirectoryClient::send_updates() {
  drop_sent();
  std::ranges::stable_partition(changed_, [this](SampleId id) { return is_kept_now_.at(id); });
  for (std::size_t begin = 0; begin < changed_.size(); begin += protocol::Update::most) {
    const auto all = std::span(changed_).subspan(begin);
    const auto part = all.first(std::min(all.size(), protocol::Update::most));
    const auto published = static_cast<std::size_t>(
        std::ranges::count_if(part, [this](SampleId id) { return is_kept_now_.at(id); }));
    count(published_row, epoch_, part.first(published));
    count(withdrawn_row, epoch_, part.subspan(published));
    count_message(update_messages_row, epoch_, part.size() * sizeof(SampleId));
    send({part.begin(), part.end()},
         protocol::Update{.published = static_cast<std::int32_t>(published),
                          .withdrawn = static_cast<std::int32_t>(part.size() - published)});
  }
  changed_.clear();
  is_kept_now_.clear();
}

void DirectoryClient::repair(std::span<const SampleId> ids, int holder, std::int64_t moment,
                             std::int64_t epoch) {
  drop_sent();
  for (; !ids.empty(); ids = ids.subspan(std::min(ids.size(), protocol::Update::most))) {
    const auto part = ids.first(std::min(ids.size(), protocol::Update::most));
    count(repaired_row, epoch, part);
    count_message(update_messages_row, epoch, part.size() * sizeof(SampleId));
    send({part.begin(), part.end()},
         protocol::Repair{
             .samples = static_cast<std::int32_t>(part.size()), .holder = holder, .moment = moment});
  }
}

void DirectoryClient::send(std::vector<SampleId> ids, const protocol::NoteOf<"directory">& note) {
  Message& message = messages_.emplace_back(Message{.ids = std::move(ids)});
  message.send =
      protocol::send<"directory">(context_, directory_, note,
                                  {Bytes(static_cast<std::int64_t>(message.ids.size() * sizeof(SampleId))),
                                   reinterpret_cast<std::byte*>(message.ids.data())});
}

/// Never blocks.
void DirectoryClient::drop_sent() {
  while (!messages_.empty() && context_.is_done(messages_.front().send)) {
    context_.wait(messages_.front().send);
    messages_.pop_front();
  }
}

void DirectoryClient::close() {
  TANDEM_CHECK(lookups_.empty(), "lookups", lookups_.size());
  send_updates();
  send({}, protocol::End{});
  for (Message& message : messages_) context_.wait(message.send);
  messages_.clear();
}

CacheRecord& DirectoryClient::record(std::int64_t epoch, std::string_view row) {
  return cache_record(journal_.caches, context_.rank(), epoch, std::string(row));
}

void DirectoryClient::count(std::string_view row, std::int64_t epoch, std::span<const SampleId> ids) {
  if (ids.empty()) return;
  CacheRecord& own = record(epoch, row);
  own.samples += std::ssize(ids);
  for (const SampleId id : ids) own.bytes += manifest_.size_of(id).count();
}

void DirectoryClient::count_message(std::string_view row, std::int64_t epoch, std::size_t bytes) {
  CacheRecord& own = record(epoch, row);
  ++own.samples;
  own.bytes += static_cast<std::int64_t>(bytes);
}

}  // namespace tandem

#include "workloads/roles/cache/store.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/job/plan/departing_nodes.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

std::shared_ptr<const SampleSource> own_samples(const Job& job, int index) {
  const std::size_t stores = job.roster().ranks_of(Roster::Role::store).size();
  const auto is_own = [&](SampleId id) { return store_of(id, stores) == static_cast<std::size_t>(index); };
  return job.data().open_source(job.spec().directory + "/records_" + std::to_string(index) + ".bin", is_own);
}

}  // namespace

Store::Store(std::span<const ServedJob> jobs, Context& context, int index, int incarnation)
    : data_(jobs.front().job->data()),
      most_of_read_(most_samples_of_read(jobs)),
      context_(context),
      incarnation_(incarnation),
      samples_(own_samples(*jobs.front().job, index)),
      given_(jobs.front().job->spec().experiment),
      disk_(context, data_.manifest(), parallel_requests(*jobs.front().job, context.rank()), samples_.get(),
            nullptr, given_.is_sent()) {
  add_readers(*jobs.front().job);
}

void Store::add_readers(const Job& job) {
  const Roster& roster = job.roster();
  for (const Rank node : roster.ranks_of(Roster::Role::cache_node)) readers_.emplace_back().rank = node;
  if (!hosts_of_departing(job).empty()) steward_ = roster.steward();
  for (const std::size_t worker : workers_of_departing_nodes(job)) {
    Reader& reader = readers_.emplace_back();
    reader.rank = roster.workers()[worker];
    reader.worker = static_cast<int>(worker);
    // Slots for spares are empty as the job begins.
    if (worker >= roster.first_workers().size()) reader.be_absent();
  }
  if (incarnation_ > 1)
    for (Reader& reader : readers_) reader.be_absent();
  open_ = static_cast<std::size_t>(std::ranges::count(readers_, false, &Reader::has_ended));
}

void Store::run() {
  const std::size_t of_disk = readers_.size(), of_steward = of_disk + 1;
  wait_.resize(readers_.size() + 1 + (steward_ ? 1 : 0));
  if (incarnation_ > 1) join();
  if (steward_) wait_[of_steward] = protocol::receive<"membership">(context_, *steward_);
  for (std::size_t reader = 0; reader < readers_.size(); ++reader)
    if (!readers_[reader].has_ended) listen(reader);
  while (!is_over()) {
    disk_.put_next(wait_[of_disk]);
    const Completion ended = context_.wait_any(wait_);
    if (ended.index < of_disk)
      on_message(ended.index, ended);
    else if (ended.index == of_steward)
      on_membership(ended.note);
    else if (const auto read = disk_.finish())
      send(*read);
  }
  if (steward_) end_membership();
}

bool Store::is_over() const { return open_ == 0 && (!steward_ || no_more_join_); }

void Store::listen(std::size_t reader) {
  Reader& from = readers_[reader];
  from.ids.resize(most_of_read_);
  wait_[reader] =
      protocol::receive<"reads">(context_, from.rank,
                                 {Bytes(static_cast<std::int64_t>(from.ids.size() * sizeof(SampleId))),
                                  reinterpret_cast<std::byte*>(from.ids.data())});
}

void Store::on_message(std::size_t index, const Completion& ended) {
  Reader& reader = readers_[index];
  if (reader.is_joining) return advance_join(index, ended);
  if (protocol::as<protocol::End>(ended.note)) {
    wait_for_sent(reader);
    reader.has_ended = true;
    --open_;
    return;
  }
  const auto read = protocol::unpack<protocol::Read>(ended.note);
  reader.ids.resize(static_cast<std::size_t>(read.samples));
  begin_read(index, read.how);
  listen(index);
}

/// Samples that are being read for an earlier reader are never sent.
void Store::wait_for_sent(Reader& reader) {
  for (Message& message : reader.messages)
    if (message.is_sent) context_.wait(message.send);
  std::erase_if(reader.messages, [](const Message& message) { return message.is_sent; });
}

/// The disk reads into the message.
void Store::begin_read(std::size_t reader, protocol::Read::How how) {
  auto& messages = readers_[reader].messages;
  drop_sent(context_, messages, spare_);
  Message& message = messages.emplace_back();
  SampleRead read{
      .ids = readers_[reader].ids, .is_package = how == protocol::Read::How::package, .reader = reader};
  for (const SampleId id : read.ids) read.size += data_.manifest().size_of(id);
  if (how == protocol::Read::How::new_package) {
    read.what = SampleRead::What::new_package;
    return disk_.add(std::move(read));
  }
  message.size = read.size + given_.size(read.ids.size());
  if (samples_) {
    spare_.give(message);
    std::span<std::byte> rest = message.records;
    for (const SampleId id : read.ids) {
      const auto size = static_cast<std::size_t>(data_.manifest().size_of(id).count());
      read.targets.push_back(rest.first(size));
      rest = rest.subspan(size);
    }
  }
  disk_.add(std::move(read));
}

void Store::send(const SampleRead& read) {
  Reader& reader = readers_[read.reader];
  const auto read_first = std::ranges::find(reader.messages, false, &SampleMessage::is_sent);
  Message& message = *read_first;
  if (message.is_lost) {
    spare_.keep(std::move(message.records));
    reader.messages.erase(read_first);
    return;
  }
  if (samples_ && read.what == SampleRead::What::samples) {
    const auto numbers = std::span(message.records).subspan(static_cast<std::size_t>(read.size.count()));
    for (std::size_t i = 0; i < read.ids.size(); ++i)
      given_.set(numbers, i, read.has_failed(i) ? bad_sample : read.ids[i]);
  }
  message.send = protocol::send<"read-data">(context_, reader.rank,
                                             {message.size, samples_ ? message.records.data() : nullptr});
  message.is_sent = true;
}

// ---- Readers that depart and join ----

void Store::on_membership(const Note& note) {
  if (const auto departed = protocol::as<protocol::Departed>(note)) {
    on_departed(client_of_worker(readers_, departed->worker));
  } else if (const auto joined = protocol::as<protocol::Joined>(note)) {
    on_joined(client_of_worker(readers_, joined->worker), joined->incarnation);
  } else if (const auto node = protocol::as<protocol::NodeDeparted>(note)) {
    on_departed(&readers_[static_cast<std::size_t>(node->node)]);
  } else if (const auto back = protocol::as<protocol::NodeJoined>(note)) {
    on_joined(&readers_[static_cast<std::size_t>(back->node)], back->incarnation);
  } else {
    protocol::unpack<protocol::End>(note);
    no_more_join_ = true;
    end_joins();
  }
  wait_.back() = protocol::receive<"membership">(context_, *steward_);
}

/// Null: a worker that never uses this store. A read for it that is in progress ends. Reads that wait for
/// the disk are dropped: nodes that come and go would otherwise keep it busy with reads for departed nodes.
void Store::on_departed(Reader* reader) {
  // It may have ended by itself.
  if (reader == nullptr || (reader->has_ended && !reader->is_joining)) return;
  const auto index = static_cast<std::size_t>(reader - readers_.data());
  reader->leave(context_, wait_[index], incarnation_);
  for (auto waiting = disk_.drop_reads_of(index); waiting > 0; --waiting) {
    spare_.keep(std::move(reader->messages.back().records));
    reader->messages.pop_back();
  }
  for (Message& message : reader->messages) message.is_lost = true;
  --open_;
}

void Store::on_joined(Reader* reader, int incarnation) {
  if (reader == nullptr) return;
  const auto index = static_cast<std::size_t>(reader - readers_.data());
  ++open_;
  reader->begin(incarnation);
  advance_join(index, {});
}

void Store::advance_join(std::size_t reader, const Completion& last) {
  if (readers_[reader].advance(context_, last, wait_[reader], incarnation_) == JoiningClient::Join::joined)
    listen(reader);
}

/// A store has come back: cache nodes stay, and join it. Notes to an earlier store of the slot may come
/// first.
void Store::join() {
  Pending arrival =
      protocol::send<"ends-of-job">(context_, *steward_, protocol::Arrived{.incarnation = incarnation_});
  for (int welcome = 0; welcome != incarnation_;) {
    Pending next = protocol::receive<"membership">(context_, *steward_);
    const Note note = context_.wait(next).note;
    if (const auto joined = protocol::as<protocol::NodeJoined>(note); joined && joined->is_store)
      welcome = joined->incarnation;
  }
  context_.wait(arrival);
  constexpr int first = 1;
  for (Reader& reader : readers_) on_joined(&reader, first);
}

/// Those that have not joined by the end of the job have ended without.
void Store::end_joins() {
  for (Reader& reader : readers_)
    if (reader.is_joining) on_departed(&reader);
}

void Store::end_membership() {
  for (Pending& open : std::span(wait_).first(readers_.size()))
    if (!open.empty()) context_.wait(open);
  disk_.close(wait_[readers_.size()]);
  for (Reader& reader : readers_) {
    context_.wait_all(reader.draining);
    wait_for_sent(reader);
  }
  Pending end = protocol::send<"ends-of-job">(context_, *steward_, protocol::End{});
  context_.wait(end);
  context_.cancel(wait_.back());
  context_.wait(wait_.back());
}

}  // namespace tandem

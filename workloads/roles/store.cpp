#include "workloads/roles/store.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/protocol.hpp"

namespace tandem {
namespace {

std::shared_ptr<const SampleSource> own_samples(const Job& job, int index) {
  const std::size_t stores = job.roster().ranks_of(Roster::Role::store).size();
  const auto is_own = [&](SampleId id) { return store_of(id, stores) == static_cast<std::size_t>(index); };
  return job.data().open_source(job.spec().directory + "/records_" + std::to_string(index) + ".bin", is_own);
}

}  // namespace

Store::Store(std::span<const ServedJob> jobs, Context& context, int index)
    : data_(jobs.front().job->data()),
      most_of_read_(most_samples_of_read(jobs)),
      context_(context),
      samples_(own_samples(*jobs.front().job, index)),
      given_(jobs.front().job->spec().experiment),
      disk_(context, data_.manifest(), parallel_requests(*jobs.front().job, context.rank()), samples_.get(),
            nullptr, given_.is_sent()) {
  for (const Rank node : jobs.front().job->roster().ranks_of(Roster::Role::cache_node))
    readers_.emplace_back().node = node;
}

void Store::run() {
  std::vector<Pending> wait;
  for (Reader& reader : readers_) wait.push_back(listen(reader));
  wait.emplace_back();
  for (std::size_t open = readers_.size(); open > 0;) {
    disk_.put_next(wait.back());
    const Completion ended = context_.wait_any(wait);
    if (ended.index == readers_.size()) {
      if (const auto read = disk_.finish()) send(*read);
      continue;
    }
    Reader& reader = readers_[ended.index];
    if (protocol::holds<protocol::End>(ended.note)) {
      wait_for_sends(context_, reader.messages);
      --open;
      continue;
    }
    const auto read = protocol::unpack<protocol::Read>(ended.note);
    reader.ids.resize(static_cast<std::size_t>(read.samples));
    begin_read(ended.index, read.how);
    wait[ended.index] = listen(reader);
  }
}

Pending Store::listen(Reader& reader) {
  reader.ids.resize(most_of_read_);
  return context_.receive(reader.node, protocol::reads,
                          {Bytes(static_cast<std::int64_t>(reader.ids.size() * sizeof(SampleId))),
                           reinterpret_cast<std::byte*>(reader.ids.data())});
}

/// The disk reads into the message.
void Store::begin_read(std::size_t reader, protocol::Read::How how) {
  auto& messages = readers_[reader].messages;
  drop_sent(context_, messages, spare_);
  SampleMessage& message = messages.emplace_back();
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
  SampleMessage& message = *std::ranges::find(reader.messages, false, &SampleMessage::is_sent);
  if (samples_ && read.what == SampleRead::What::samples) {
    const auto numbers = std::span(message.records).subspan(static_cast<std::size_t>(read.size.count()));
    for (std::size_t i = 0; i < read.ids.size(); ++i)
      given_.set(numbers, i, read.has_failed(i) ? bad_sample : read.ids[i]);
  }
  message.send = context_.send(reader.node, protocol::read_data,
                               {message.size, samples_ ? message.records.data() : nullptr});
  message.is_sent = true;
}

}  // namespace tandem

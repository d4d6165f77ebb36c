#include "workloads/roles/sample_reads.hpp"

#include <algorithm>
#include <utility>

#include "workloads/protocol.hpp"

namespace tandem {

bool is_one_piece(const std::vector<std::span<std::byte>>& targets) {
  for (std::size_t i = 1; i < targets.size(); ++i)
    if (targets[i - 1].data() + targets[i - 1].size() != targets[i].data()) return false;
  return true;
}

int parallel_requests(const Job& job, Rank rank) {
  const auto disk = job.devices().disk_of(rank);
  return disk ? job.devices().disk_service(rank, *disk).parallel : 1;
}

void DiskSource::add(SampleRead read) {
  if (read.what == SampleRead::What::to_tier) to_write_ += read.size;
  accesses_.push_back({std::move(read)});
}

/// Of the samples from `begin` to before `end`.
Kernel DiskSource::transfer(SampleRead& read, std::size_t begin, std::size_t end) {
  switch (read.what) {
    case SampleRead::What::samples:
      if (samples_ == nullptr) break;
      return [this, &read, begin, end] {
        for (std::size_t i = begin; i < end; ++i) samples_->read(read.ids[i], read.targets[i]);
      };
    case SampleRead::What::from_tier:
      if (tier_ == nullptr) break;
      return [this, &read, begin, end] {
        for (std::size_t i = begin; i < end; ++i) tier_->read(read.ids[i], read.targets[i]);
      };
    case SampleRead::What::to_tier:
      if (tier_ == nullptr) break;
      return [this, &read, begin, end] {
        for (std::size_t i = begin; i < end; ++i) tier_->write(read.ids[i], read.records[i]);
      };
    case SampleRead::What::new_package:
    case SampleRead::What::to_package:
      break;
  }
  return {};
}

/// An emulated or simulated disk serves all requests in the order in which they arrive, in parts or not.
void DiskSource::start(SampleRead& read) {
  if (read.what != SampleRead::What::to_package) read.started = context_.now();
  const std::size_t samples = read.ids.size();
  const bool is_one = read.is_package || read.what == SampleRead::What::to_package;
  const std::size_t parts = is_one ? 1 : std::clamp<std::size_t>(samples, 1, parallel_);
  for (std::size_t part = 0; part < parts; ++part)
    start_part(read, part * samples / parts, (part + 1) * samples / parts);
}

/// The samples from `begin` to before `end`.
void DiskSource::start_part(SampleRead& read, std::size_t begin, std::size_t end) {
  using What = SampleRead::What;
  Bytes size{0};
  for (std::size_t i = begin; i < end; ++i) size += manifest_.size_of(read.ids[i]);
  const bool is_one = read.is_package || read.what == What::to_package;
  const DiskAccess access{size, is_one ? 1 : static_cast<std::int64_t>(end - begin)};
  Kernel moves = transfer(read, begin, end);
  const bool writes = read.what == What::to_tier || read.what == What::to_package;
  parts_.push_back(writes ? context_.write(0, access, std::move(moves))
                          : context_.read(0, access, std::move(moves)));
}

/// The last part first: as a rule, the others have ended when it has.
void DiskSource::put_next(Pending& wait) {
  if (!wait.empty() || accesses_.empty()) return;
  if (parts_.empty()) start(accesses_.front().read);
  wait = std::move(parts_.back());
  parts_.pop_back();
}

std::optional<SampleRead> DiskSource::finish() {
  for (; !parts_.empty() && context_.is_done(parts_.back()); parts_.pop_back()) context_.wait(parts_.back());
  if (!parts_.empty()) return std::nullopt;
  if (accesses_.front().read.what == SampleRead::What::new_package) {
    accesses_.front().read.what = SampleRead::What::to_package;
    return std::nullopt;
  }
  Access access = std::move(accesses_.front());
  accesses_.pop_front();
  for (const SampleId id : access.removed) tier_->remove(id);
  if (access.read.what == SampleRead::What::to_tier) to_write_ -= access.read.size;
  access.read.duration = context_.now() - access.read.started;
  return std::move(access.read);
}

void DiskSource::close() {
  context_.wait_all(parts_);
  parts_.clear();
}

void DiskSource::remove(SampleId id) {
  if (tier_ == nullptr) return;
  if (accesses_.empty())
    tier_->remove(id);
  else
    accesses_.back().removed.push_back(id);
}

void StoreSource::add(SampleRead read) {
  Request& request = requests_.emplace_back(Request{.read = std::move(read)});
  SampleRead& own = request.read;
  own.started = context_.now();
  std::byte* into = nullptr;
  if (!own.targets.empty() && is_one_piece(own.targets)) {
    into = own.targets.front().data();
  } else if (!own.targets.empty()) {
    request.records.resize(static_cast<std::size_t>(own.size.count()));
    into = request.records.data();
  }
  const bool is_new = own.what == SampleRead::What::new_package;
  request.data = context_.receive(store_, protocol::read_data, {is_new ? Bytes(0) : own.size, into});
  const auto count = std::ssize(own.ids);
  request.sent =
      context_.send(store_, protocol::reads,
                    {Bytes(count * static_cast<std::int64_t>(sizeof(SampleId))),
                     reinterpret_cast<std::byte*>(own.ids.data())},
                    protocol::pack(protocol::Read{.samples = static_cast<std::int32_t>(count),
                                                  .how = is_new           ? protocol::Read::How::new_package
                                                         : own.is_package ? protocol::Read::How::package
                                                                          : protocol::Read::How::one_by_one,
                                                  .epoch = own.epoch}));
}

void StoreSource::put_next(Pending& wait) {
  if (wait.empty() && !requests_.empty()) wait = std::move(requests_.front().data);
}

std::optional<SampleRead> StoreSource::finish() {
  Request& request = requests_.front();
  context_.wait(request.sent);
  SampleRead read = std::move(request.read);
  std::span<const std::byte> rest = request.records;
  for (std::size_t i = 0; !rest.empty(); ++i) {
    std::ranges::copy(rest.first(read.targets[i].size()), read.targets[i].begin());
    rest = rest.subspan(read.targets[i].size());
  }
  requests_.pop_front();
  read.duration = context_.now() - read.started;
  return read;
}

void StoreSource::close() {
  Pending end = context_.send(store_, protocol::reads, {}, protocol::pack(protocol::End{}));
  context_.wait(end);
}

}  // namespace tandem

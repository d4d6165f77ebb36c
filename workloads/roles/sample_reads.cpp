#include "workloads/roles/sample_reads.hpp"

#include <algorithm>
#include <utility>

#include "workloads/protocol.hpp"

namespace tandem {
namespace {

/// Each follows the one before it.
bool is_one_piece(const std::vector<std::span<std::byte>>& targets) {
  for (std::size_t i = 1; i < targets.size(); ++i)
    if (targets[i - 1].data() + targets[i - 1].size() != targets[i].data()) return false;
  return true;
}

}  // namespace

Kernel DiskSource::transfer(SampleRead& read) {
  switch (read.what) {
    case SampleRead::What::samples:
      if (samples_ == nullptr) break;
      return [this, &read] {
        for (std::size_t i = 0; i < read.ids.size(); ++i) samples_->read(read.ids[i], read.targets[i]);
      };
    case SampleRead::What::from_tier:
      if (tier_ == nullptr) break;
      return [this, &read] {
        for (std::size_t i = 0; i < read.ids.size(); ++i) tier_->read(read.ids[i], read.targets[i]);
      };
    case SampleRead::What::to_tier:
      if (tier_ == nullptr) break;
      return [this, &read] {
        for (std::size_t i = 0; i < read.ids.size(); ++i) tier_->write(read.ids[i], read.records[i]);
      };
  }
  return {};
}

void DiskSource::put_next(Pending& wait) {
  if (!wait.empty() || accesses_.empty()) return;
  SampleRead& read = accesses_.front().read;
  read.started = context_.now();
  const DiskAccess access{read.size, std::ssize(read.ids)};
  wait = read.what == SampleRead::What::to_tier ? context_.write(0, access, transfer(read))
                                                : context_.read(0, access, transfer(read));
}

SampleRead DiskSource::finish() {
  Access access = std::move(accesses_.front());
  accesses_.pop_front();
  for (const SampleId id : access.removed) tier_->remove(id);
  access.read.duration = context_.now() - access.read.started;
  return std::move(access.read);
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
  request.data = context_.receive(store_, protocol::read_data, {own.size, into});
  const auto count = std::ssize(own.ids);
  request.sent = context_.send(store_, protocol::reads,
                               {Bytes(count * static_cast<std::int64_t>(sizeof(SampleId))),
                                reinterpret_cast<std::byte*>(own.ids.data())},
                               protocol::pack(protocol::Read{.samples = static_cast<std::int32_t>(count)}));
}

void StoreSource::put_next(Pending& wait) {
  if (wait.empty() && !requests_.empty()) wait = std::move(requests_.front().data);
}

SampleRead StoreSource::finish() {
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

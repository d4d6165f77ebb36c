#include "workloads/roles/cache/sample_reads.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/checked_read.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

bool is_one_piece(const std::vector<std::span<std::byte>>& targets) {
  for (std::size_t i = 1; i < targets.size(); ++i)
    if (targets[i - 1].data() + targets[i - 1].size() != targets[i].data()) return false;
  return true;
}

/// A tier that lacks a sample will lack it in a moment too, and the data set has it.
static constexpr Retries once{.attempts = 1};

int parallel_requests(const Job& job, Rank rank) {
  // A storage in the network serves many, each of which takes at least the time of a message there and back.
  constexpr int of_mounted_storage = 16;
  if (job.spec().experiment.data.store == StoreAccess::mounted &&
      job.roster().ranks_of(Roster::Role::store).empty())
    return of_mounted_storage;
  const auto disk = job.devices().disk_of(rank);
  return disk ? job.devices().disk_service(rank, *disk).parallel : 1;
}

void DiskSource::add(SampleRead read) {
  if (read.what == SampleRead::What::to_tier) to_write_ += read.size;
  accesses_.push_back({std::move(read)});
}

/// Transfers the samples from `begin` to before `end`.
Kernel DiskSource::transfer(SampleRead& read, std::size_t begin, std::size_t end) {
  switch (read.what) {
    case SampleRead::What::samples:
    case SampleRead::What::instead_of_tier:
      if (samples_ == nullptr) break;
      if (auto files = file_transfer(read, begin, end)) return std::move(*files);
      return [this, &read, begin, end] {
        for (std::size_t i = begin; i < end; ++i) read_sample(read, i);
      };
    case SampleRead::What::from_tier:
      if (tier_ == nullptr) break;
      return [this, &read, begin, end] {
        for (std::size_t i = begin; i < end; ++i)
          read.failed[i] = try_again([&] { tier_->read(read.ids[i], read.targets[i]); }, once) ? 1 : 0;
      };
    case SampleRead::What::to_tier:
      if (tier_ == nullptr) break;
      return [this, &read, begin, end] {
        for (std::size_t i = begin; i < end; ++i)
          read.failed[i] = tier_->write(read.ids[i], read.records[i]) ? 0 : 1;
      };
    case SampleRead::What::new_package:
    case SampleRead::What::to_package:
      break;
  }
  return {};
}

/// Nullopt: threads have to read them. The rank itself compares the bytes with checksums, which must not
/// keep it from its messages for long; and threads read large parts as fast.
std::optional<FileTransfer> DiskSource::file_transfer(SampleRead& read, std::size_t begin, std::size_t end) {
  constexpr std::size_t most_bytes = std::size_t{64} << 10;
  std::size_t bytes = 0;
  for (std::size_t i = begin; i < end; ++i) bytes += read.targets[i].size();
  if (bytes > most_bytes) return std::nullopt;
  FileTransfer files;
  std::vector<PlannedRead> plans;
  for (std::size_t i = begin; i < end; ++i) {
    auto planned = samples_->plan(read.ids[i], read.targets[i]);
    if (!planned) return std::nullopt;
    files.reads.push_back(planned->read);
    plans.push_back(std::move(*planned));
  }
  files.then = [this, &read, begin, plans = std::move(plans)](std::span<const std::int64_t> results) {
    std::vector<std::size_t> wrong;
    for (std::size_t i = 0; i < plans.size(); ++i)
      if (!is_right(read, begin + i, plans[i], results[i])) wrong.push_back(begin + i);
    if (wrong.empty()) return std::function<void()>();
    return std::function<void()>([this, &read, wrong = std::move(wrong)] {
      for (const std::size_t position : wrong) read_sample(read, position);
    });
  };
  return files;
}

/// Those that are not are read again, with pauses.
bool DiskSource::is_right(const SampleRead& read, std::size_t position, const PlannedRead& planned,
                          std::int64_t result) const {
  try {
    planned.finish(result);
  } catch (const WorldError&) {
    return false;
  }
  return !samples_->difference(read.ids[position], read.targets[position]);
}

void DiskSource::read_sample(SampleRead& read, std::size_t position) const {
  const auto wrong = read_checked(*samples_, read.ids[position], read.targets[position]);
  if (wrong && !continues_)
    throw WorldError(*wrong + "; data.bad_sample: replace trains on another sample in its place");
  read.failed[position] = wrong ? 1 : 0;
}

/// After the first access, starts as many requests as the disk serves at the same time. When the first one
/// is nearly done, the disk then has a request for each place that becomes free. A request that writes, or
/// reads written samples, waits for all before it, and all later ones wait for it.
void DiskSource::begin_next() {
  const std::size_t enough = parallel_ == 1 ? 0 : parallel_;
  std::size_t behind = 0;
  for (Access& access : accesses_) {
    const bool is_first = &access == &accesses_.front();
    const bool passes = access.read.what == SampleRead::What::samples;
    if (!access.has_begun) {
      if (!is_first && (behind >= enough || !passes)) return;
      begin(access);
    }
    if (!passes) return;
    if (!is_first) behind += access.read.ids.size();
  }
}

/// An emulated or simulated disk serves all requests in the order in which they arrive, in parts or not.
void DiskSource::begin(Access& access) {
  access.has_begun = true;
  SampleRead& read = access.read;
  if (read.what != SampleRead::What::to_package) read.started = context_.now();
  if (samples_ != nullptr || tier_ != nullptr) read.failed.resize(read.ids.size());
  const std::size_t samples = read.ids.size();
  const bool is_one = read.is_package || read.what == SampleRead::What::to_package;
  const std::size_t parts = is_one ? 1 : std::clamp<std::size_t>(samples, 1, parallel_);
  for (std::size_t part = 0; part < parts; ++part)
    begin_part(access, part * samples / parts, (part + 1) * samples / parts);
}

/// The samples from `begin` to before `end`.
void DiskSource::begin_part(Access& of, std::size_t begin, std::size_t end) {
  using What = SampleRead::What;
  SampleRead& read = of.read;
  Bytes size{0};
  for (std::size_t i = begin; i < end; ++i) size += manifest_.size_of(read.ids[i]);
  const bool is_one = read.is_package || read.what == What::to_package;
  const DiskAccess access{size, is_one ? 1 : static_cast<std::int64_t>(end - begin)};
  Kernel moves = transfer(read, begin, end);
  const bool writes = read.what == What::to_tier || read.what == What::to_package;
  of.parts.push_back(writes ? context_.write(0, access, std::move(moves))
                            : context_.read(0, access, std::move(moves)));
}

/// The last part first: as a rule, the others have ended when it has.
void DiskSource::put_next(Pending& wait) {
  begin_next();
  if (!wait.empty() || accesses_.empty()) return;
  auto& parts = accesses_.front().parts;
  wait = std::move(parts.back());
  parts.pop_back();
}

std::optional<SampleRead> DiskSource::finish() {
  Access& first = accesses_.front();
  for (auto& parts = first.parts; !parts.empty() && context_.is_done(parts.back()); parts.pop_back())
    context_.wait(parts.back());
  if (!first.parts.empty()) return std::nullopt;
  if (first.read.what == SampleRead::What::new_package) {
    first.read.what = SampleRead::What::to_package;
    first.has_begun = false;
    return std::nullopt;
  }
  Access access = std::move(first);
  accesses_.pop_front();
  for (const SampleId id : access.removed) tier_->remove(id);
  if (access.read.what == SampleRead::What::to_tier) to_write_ -= access.read.size;
  access.read.duration = context_.now() - access.read.started;
  return std::move(access.read);
}

/// Writes that have not started are of no use any more.
void DiskSource::close(Pending& last) {
  if (!last.empty()) context_.wait(last);
  for (Access& access : accesses_) context_.wait_all(access.parts);
}

void DiskSource::remove(SampleId id) {
  if (tier_ == nullptr) return;
  if (accesses_.empty())
    tier_->remove(id);
  else
    accesses_.back().removed.push_back(id);
}

std::size_t DiskSource::drop_reads_of(std::size_t reader) {
  std::size_t dropped = 0;
  for (auto access = accesses_.begin(); access != accesses_.end();) {
    const bool drops = !access->has_begun && access->read.reader == reader;
    dropped += drops ? 1 : 0;
    access = drops ? accesses_.erase(access) : std::next(access);
  }
  return dropped;
}

void StoreSource::add(SampleRead read) {
  Request& request = requests_.emplace_back(Request{.read = std::move(read)});
  request.read.started = context_.now();
  if (store_.takes_requests()) ask(request);
}

void StoreSource::ask(Request& request) {
  SampleRead& own = request.read;
  std::byte* into = nullptr;
  const Bytes numbers = given_.size(own.ids.size());
  if (!own.targets.empty() && is_one_piece(own.targets) && !given_.is_sent()) {
    into = own.targets.front().data();
  } else if (!own.targets.empty()) {
    request.records.resize(static_cast<std::size_t>((own.size + numbers).count()));
    into = request.records.data();
  }
  const bool is_new = own.what == SampleRead::What::new_package;
  request.data =
      protocol::receive<"read-data">(context_, store_.rank(), {is_new ? Bytes(0) : own.size + numbers, into});
  const auto count = std::ssize(own.ids);
  request.sent =
      protocol::send<"reads">(context_, store_.rank(),
                              protocol::Read{.samples = static_cast<std::int32_t>(count),
                                             .how = is_new           ? protocol::Read::How::new_package
                                                    : own.is_package ? protocol::Read::How::package
                                                                     : protocol::Read::How::one_by_one,
                                             .epoch = own.epoch},
                              {Bytes(count * static_cast<std::int64_t>(sizeof(SampleId))),
                               reinterpret_cast<std::byte*>(own.ids.data())});
}

/// Open operations with a store that has departed may still use the memory of its reads.
void StoreSource::put_next(Pending& wait) {
  if (!wait.empty()) return;
  if (store_.takes_requests()) {
    if (!requests_.empty()) wait = std::move(requests_.front().data);
  } else if (!lost_.empty()) {
    wait = std::move(lost_.back());
    lost_.pop_back();
  } else {
    store_.put_next(wait);
    awaits_store_ = !wait.empty();
  }
}

std::optional<SampleRead> StoreSource::finish() {
  if (!store_.takes_requests()) {
    if (std::exchange(awaits_store_, false) && store_.advance(ended_))
      for (Request& request : requests_) ask(request);
    return std::nullopt;
  }
  Request& request = requests_.front();
  context_.wait(request.sent);
  SampleRead read = std::move(request.read);
  std::span<const std::byte> rest = request.records;
  for (std::size_t i = 0; !rest.empty() && i < read.targets.size(); ++i) {
    std::ranges::copy(rest.first(read.targets[i].size()), read.targets[i].begin());
    rest = rest.subspan(read.targets[i].size());
  }
  // Those of `rest`, if there are any.
  for (std::size_t i = 0; !rest.empty() && i < read.ids.size(); ++i)
    read.failed.push_back(GivenSamples::get(rest, i) == bad_sample ? 1 : 0);
  requests_.pop_front();
  read.duration = context_.now() - read.started;
  return read;
}

void StoreSource::depart() {
  if (store_.takes_requests())
    for (Request& request : requests_)
      for (Pending* open : {&request.data, &request.sent})
        if (!open->empty()) lost_.push_back(std::move(*open));
  store_.depart();
}

void StoreSource::close(Pending& last) {
  if (!store_.takes_requests() && !awaits_store_ && !last.empty()) context_.wait(last);
  context_.wait_all(lost_);
  if (!store_.close(last)) return;
  Pending end = protocol::send<"reads">(context_, store_.rank(), protocol::End{});
  context_.wait(end);
}

}  // namespace tandem

#include "workloads/data/record_store.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/checked_read.hpp"

namespace tandem {

RecordStore::RecordStore(std::string path, const Dataset& dataset, const std::function<bool(SampleId)>& has,
                         bool cold)
    : path_(std::move(path)),
      record_(dataset.info().record_bytes()),
      begin_of_(static_cast<std::size_t>(dataset.info().train_samples), -1),
      checksums_(begin_of_.size()) {
  std::ofstream out(path_, std::ios::binary);
  std::int64_t end = 0;
  for (SampleId id = 0; id < dataset.info().train_samples; ++id) {
    if (has && !has(id)) continue;
    const auto record = dataset.record(Dataset::Part::train, id);
    out.write(reinterpret_cast<const char*>(record.data()), static_cast<std::streamsize>(record.size()));
    begin_of_[static_cast<std::size_t>(id)] = end;
    checksums_[static_cast<std::size_t>(id)] = quick_checksum(record);
    end += std::ssize(record);
  }
  out.close();
  if (!out) throw WorldError("cannot write the record store " + path_ + ": " + std::strerror(errno));
  file_.emplace(path_, cold);
  ::unlink(path_.c_str());
}

/// Where the record begins.
std::int64_t RecordStore::place_of(SampleId id, std::span<std::byte> target) const {
  const std::int64_t begin = begin_of_.at(static_cast<std::size_t>(id));
  TANDEM_CHECK(begin >= 0, "sample", id, "is not in", path_);
  TANDEM_CHECK(std::ssize(target) == record_.count(), target.size(), record_.count());
  return begin;
}

void RecordStore::read(SampleId id, std::span<std::byte> target) const {
  file_->read(place_of(id, target), target);
}

std::optional<PlannedRead> RecordStore::plan(SampleId id, std::span<std::byte> target) const {
  return file_->plan(place_of(id, target), target);
}

std::optional<std::string> RecordStore::difference(SampleId id, std::span<const std::byte> read) const {
  return difference_of(checksums_.at(static_cast<std::size_t>(id)), quick_checksum(read));
}

std::string RecordStore::name(SampleId id) const { return "record " + std::to_string(id) + " of " + path_; }

}  // namespace tandem

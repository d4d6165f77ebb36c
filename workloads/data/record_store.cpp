#include "workloads/data/record_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "policies/vocabulary/check.hpp"

namespace tandem {

RecordStore::RecordStore(std::string path, const Dataset& dataset, const std::function<bool(SampleId)>& has)
    : path_(std::move(path)), begin_of_(static_cast<std::size_t>(dataset.info().train_samples), -1) {
  std::ofstream out(path_, std::ios::binary);
  std::int64_t end = 0;
  for (SampleId id = 0; id < dataset.info().train_samples; ++id) {
    if (has && !has(id)) continue;
    const auto record = dataset.record(Dataset::Part::train, id);
    out.write(reinterpret_cast<const char*>(record.data()), static_cast<std::streamsize>(record.size()));
    begin_of_[static_cast<std::size_t>(id)] = end;
    end += std::ssize(record);
  }
  out.close();
  if (!out) throw WorldError("cannot write the record store " + path_ + ": " + std::strerror(errno));
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw WorldError("cannot open " + path_ + ": " + std::strerror(errno));
}

RecordStore::~RecordStore() {
  if (file_ >= 0) ::close(file_);
  ::unlink(path_.c_str());
}

void RecordStore::read(SampleId id, std::span<std::byte> target) const {
  const std::int64_t begin = begin_of_.at(static_cast<std::size_t>(id));
  TANDEM_CHECK(begin >= 0, "sample", id, "is not in", path_);
  std::size_t done = 0;
  while (done < target.size()) {
    const auto offset = static_cast<off_t>(begin) + static_cast<off_t>(done);
    const ssize_t count = ::pread(file_, target.data() + done, target.size() - done, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw WorldError("cannot read record " + std::to_string(id) + " of " + path_);
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace tandem

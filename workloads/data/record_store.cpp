#include "workloads/data/record_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "policies/vocabulary/check.hpp"

namespace tandem {

RecordStore::RecordStore(std::string path, const Dataset& dataset) : path_(std::move(path)) {
  const auto records = dataset.records(Dataset::Part::train);
  std::ofstream out(path_, std::ios::binary);
  out.write(reinterpret_cast<const char*>(records.data()), static_cast<std::streamsize>(records.size()));
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
  std::size_t done = 0;
  while (done < target.size()) {
    const auto offset =
        static_cast<off_t>(id * static_cast<std::int64_t>(target.size())) + static_cast<off_t>(done);
    const ssize_t count = ::pread(file_, target.data() + done, target.size() - done, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw WorldError("cannot read record " + std::to_string(id) + " of " + path_);
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace tandem

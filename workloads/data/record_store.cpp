#include "workloads/data/record_store.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "policies/vocabulary/check.hpp"

namespace tandem {

RecordStore::RecordStore(std::string path, const Dataset& dataset, bool cold) : path_(std::move(path)) {
  const auto records = dataset.records(Dataset::Part::train);
  std::ofstream out(path_, std::ios::binary);
  out.write(reinterpret_cast<const char*>(records.data()), static_cast<std::streamsize>(records.size()));
  out.close();
  if (!out) throw WorldError("cannot write the record store " + path_ + ": " + std::strerror(errno));
  file_.emplace(path_, cold);
}

RecordStore::~RecordStore() { ::unlink(path_.c_str()); }

void RecordStore::read(SampleId id, std::span<std::byte> target) const {
  file_->read(id * std::ssize(target), target);
}

}  // namespace tandem

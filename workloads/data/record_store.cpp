#include "workloads/data/record_store.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

RecordStore::RecordStore(std::string path, const Dataset& dataset)
    : path_(std::move(path)), record_(dataset.info().record_bytes()) {
  const auto records = dataset.records(Dataset::Part::train);
  std::ofstream out(path_, std::ios::binary);
  out.write(reinterpret_cast<const char*>(records.data()), static_cast<std::streamsize>(records.size()));
  out.close();
  if (!out) throw WorldError("cannot write the record store " + path_ + ": " + std::strerror(errno));
  file_.emplace(path_);
}

RecordStore::~RecordStore() { ::unlink(path_.c_str()); }

void RecordStore::read(SampleId id, std::span<std::byte> target) const {
  TANDEM_CHECK(std::ssize(target) == record_.count(), target.size(), record_.count());
  file_->read(record_.count() * id, target);
}

std::string RecordStore::name(SampleId id) const { return "record " + std::to_string(id) + " of " + path_; }

}  // namespace tandem

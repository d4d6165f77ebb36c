// The training set as a file of records on a disk, read sample by sample: the contents of a storage tier.
#pragma once

#include <string>

#include "workloads/data/dataset.hpp"

namespace tandem {

class RecordStore {
 public:
  /// Writes the file. Errors: WorldError.
  RecordStore(std::string path, const Dataset& dataset);
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;
  /// Reads one record into `target`, whose size is that of a record. Errors: WorldError.
  void read(SampleId id, std::span<std::byte> target) const;

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace tandem

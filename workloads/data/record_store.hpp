// The training set as a file of records on a disk, read sample by sample: the contents of a storage tier.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/data/dataset.hpp"

namespace tandem {

class RecordStore {
 public:
  /// Writes the file, with the samples for which `has` is true; empty: all. Errors: WorldError.
  RecordStore(std::string path, const Dataset& dataset, const std::function<bool(SampleId)>& has = {});
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;
  /// Reads one record into `target`, whose size is that of the record. Pre: it has the sample.
  /// Errors: WorldError.
  void read(SampleId id, std::span<std::byte> target) const;

 private:
  std::string path_;
  std::vector<std::int64_t> begin_of_;  ///< by id, in the file; -1: not there
  int file_ = -1;
};

}  // namespace tandem

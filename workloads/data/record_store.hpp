// The training set as a file of records on a disk, read sample by sample: the contents of a storage tier.
#pragma once

#include <optional>
#include <string>

#include "workloads/data/dataset.hpp"
#include "workloads/data/storage_file.hpp"

namespace tandem {

class RecordStore {
 public:
  /// Writes the file. `cold`: see StorageFile. Errors: WorldError.
  RecordStore(std::string path, const Dataset& dataset, bool cold = false);
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;
  /// Reads one record into `target`, whose size is that of a record. Errors: WorldError.
  void read(SampleId id, std::span<std::byte> target) const;

 private:
  std::string path_;
  std::optional<StorageFile> file_;
};

}  // namespace tandem

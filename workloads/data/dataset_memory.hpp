// The records of a data set in memory that the processes of a machine share, so that only one of them reads
// the files and holds a copy.
#pragma once

#include <memory>
#include <string>

#include "workloads/data/dataset.hpp"

namespace tandem {

/// Holds a copy of the records. The memory is freed when this object and all processes that map it are gone.
class DatasetMemory {
 public:
  /// Errors: WorldError when the system has too little memory.
  explicit DatasetMemory(const Dataset& dataset);
  ~DatasetMemory();
  DatasetMemory(const DatasetMemory&) = delete;
  DatasetMemory& operator=(const DatasetMemory&) = delete;

  /// The path by which other processes of this user on this machine open it, while this object exists.
  const std::string& path() const { return path_; }

 private:
  int file_ = -1;
  std::string path_;
};

/// Null without a data set, or if the system has too little memory: other processes then load their own
/// copy.
std::unique_ptr<DatasetMemory> share_dataset(const Dataset* dataset);

/// As load_dataset, for the same setting with which the data set in the memory `path` was loaded, but maps
/// its records. Null when the memory cannot be opened here, or has another size. Errors: as describe_dataset.
std::shared_ptr<const Dataset> map_dataset(const DatasetSetting& setting, const std::string& path,
                                           const SampleSet* set = nullptr);

}  // namespace tandem

// The training set as a file of records on a disk, read sample by sample: the contents of a storage tier.
#pragma once

#include <optional>
#include <string>

#include "workloads/data/dataset.hpp"
#include "workloads/data/file_part.hpp"
#include "workloads/data/sample_source.hpp"

namespace tandem {

class RecordStore final : public SampleSource {
 public:
  /// Writes the file. Errors: WorldError.
  RecordStore(std::string path, const Dataset& dataset);
  ~RecordStore() override;
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  Bytes size(SampleId) const override { return record_; }
  void read(SampleId id, std::span<std::byte> target) const override;
  std::string name(SampleId id) const override;

 private:
  std::string path_;
  Bytes record_;
  std::optional<FilePart> file_;
};

}  // namespace tandem

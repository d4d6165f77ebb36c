// Training samples as a file of records on a disk, read sample by sample: the contents of a storage tier.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "workloads/data/dataset.hpp"
#include "workloads/data/sample_source.hpp"
#include "workloads/data/storage_file.hpp"

namespace tandem {

class RecordStore final : public SampleSource {
 public:
  /// Writes the file with the samples for which `has` is true; empty: all. Afterwards the file has no name,
  /// so it is gone when the process ends. `cold`: see StorageFile. Errors: WorldError.
  RecordStore(std::string path, const Dataset& dataset, const std::function<bool(SampleId)>& has = {},
              bool cold = false);

  Bytes size(SampleId) const override { return record_; }
  /// Pre: it has the sample.
  void read(SampleId id, std::span<std::byte> target) const override;
  std::optional<PlannedRead> plan(SampleId id, std::span<std::byte> target) const override;
  std::optional<std::string> difference(SampleId id, std::span<const std::byte> read) const override;
  PageCache page_cache() const override { return file_->page_cache(); }
  std::string name(SampleId id) const override;

 private:
  std::int64_t place_of(SampleId id, std::span<std::byte> target) const;

  std::string path_;
  Bytes record_;
  std::vector<std::int64_t> begin_of_;    ///< by id, in the file; -1: not there
  std::vector<std::uint32_t> checksums_;  ///< by id
  std::optional<StorageFile> file_;
};

}  // namespace tandem

// The files of data sets in their own formats: checks them and turns them into records. Knows no data set by
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/data/dataset.hpp"

namespace tandem {

/// The files of one part of a data set, opened. Every error is a ConfigError that names the file, what was
/// expected and what was found.
class PartFiles {
 public:
  virtual ~PartFiles() = default;
  /// That the files hold.
  virtual std::int64_t samples() const = 0;
  /// The first `count` records. Once. Pre: at most `samples()`. Errors: truncated, corrupt, a label that is
  /// none.
  virtual std::vector<std::byte> read(std::int64_t count) = 0;
};

/// As MNIST has it: a file of labels and one of grey images, both IDX. Errors: not IDX, another number of
/// labels than of images, images of another size.
std::unique_ptr<PartFiles> open_idx_part(const DatasetInfo& info, const std::string& labels,
                                         const std::string& images);

/// As CIFAR has it in its binary version: in each file sample after sample, of which the labels come first, a
/// byte each, then the pixels as in a record. `label_limits`: of each label, how many classes it tells apart;
/// the last label is the record's. Errors: empty, or not whole samples.
std::unique_ptr<PartFiles> open_cifar_part(const DatasetInfo& info, const std::vector<int>& label_limits,
                                           const std::vector<std::string>& paths);

}  // namespace tandem
